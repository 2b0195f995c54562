"""How queries that all sets share average the points they read: all of them, two each, or a dealt share.

Every function gives, for queries q (m, heads, dim) and points y (batch, n, dim), the means (batch, m, heads, dim)

    mean_a = sum_{i in A_a} softmax_{A_a}(q_a . y_i) y_i

over the points A_a that query a reads: the kept entries of row a in the m x n attention matrix.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...attention.kernels import take, two_keys


def average(queries: Tensor, y: Tensor, allowed: Tensor | None = None) -> Tensor:
    """Every query reads all points, or those that `allowed` (batch, m or 1, n) names.

    A query that may read no point gets some finite mean.
    """
    score = torch.matmul(queries.flatten(0, 1), y.transpose(1, 2)).unflatten(1, queries.shape[:2])
    if allowed is not None:
        allowed = allowed | ~allowed.any(-1, keepdim=True)
        score = score.masked_fill(~allowed[:, :, None], -torch.inf)
    mean: Tensor = torch.matmul(score.softmax(-1).flatten(1, 2), y).unflatten(1, queries.shape[:2])
    return mean


def average_of_two(queries: Tensor, y: Tensor, drawn: Tensor) -> Tensor:
    """Every query reads two points: the paper's sampled form, at a cost of O(m).

    `drawn` (batch or 1, heads or 1, 2 m) holds the first point of every pair, then the second ones, as
    `attention.pairs` draws them. Of y, only the drawn rows are read.
    """
    rows = take(y[:, :, None], drawn.transpose(1, 2).flatten(1)[:, None])  # (batch, 2 m * (heads or 1), 1, dim)
    one, two = rows.unflatten(1, (drawn.shape[2], drawn.shape[1])).squeeze(3).chunk(2, 1)  # (batch, m, heads or 1, dim)
    return two_keys(queries, one, one, two, two, 1.0)


def average_of_dealt(queries: Tensor, y: Tensor, kept: int) -> Tensor:
    """Every point is read by `kept` queries: `average` with `dealt_mask`, at a cost of O(n kept) instead of O(n m).

    The points are cut into m heaps of equal size. The queries a, a - 1, ..., a - kept + 1, counted in a circle, read
    heap a. The fewer than m points that are left over are read by all queries.
    """
    count, size = queries.shape[0], y.shape[1] // queries.shape[0]
    heaps = y[:, : count * size].unflatten(1, (count, size)).contiguous()  # once, not in each product
    rest = y[:, count * size :]
    turned = torch.stack([queries.roll(turn, 0) for turn in range(kept)], 1)  # (m, kept, heads, dim): heap a, a - turn
    score = torch.matmul(turned.flatten(1, 2), heaps.transpose(2, 3)).unflatten(2, turned.shape[1:3])
    own = [score[:, :, turn].roll(-turn, 1) for turn in range(kept)]  # (batch, m, heads, size), by query
    left = torch.matmul(queries.flatten(0, 1), rest.transpose(1, 2)).unflatten(1, queries.shape[:2])
    *weights, weight = torch.cat([*own, left], -1).softmax(-1).split([size] * kept + [rest.shape[1]], -1)
    by_heap = torch.stack([part.roll(turn, 1) for turn, part in enumerate(weights)], 2)
    means = torch.matmul(by_heap.flatten(2, 3), heaps).unflatten(2, by_heap.shape[2:4])
    total: Tensor = torch.matmul(weight.flatten(1, 2), rest).unflatten(1, queries.shape[:2])
    for turn in range(kept):
        total = total + means[:, :, turn].roll(-turn, 1)
    return total


def dealt_mask(mask: Tensor, count: int, kept: int) -> Tensor:
    """Which points each of `count` queries reads, (batch, count, n), in padded sets whose real points come first."""
    size = mask.sum(1)[:, None] // count  # (batch, 1)
    place = torch.arange(mask.shape[1], device=mask.device)
    heap = place // size.clamp(min=1)
    query = torch.arange(count, device=mask.device)[:, None]
    read = (heap[:, None] - query) % count < kept
    return (read | (place >= size * count)[:, None]) & mask[:, None]
