"""Two different random points per row: the paper's sampled form of an m x n attention matrix (appendices B.3 and C).

Inducing points are not points of the set, so that no Hamiltonian cycle joins the two. Instead, the paper keeps two
random entries of each row: every inducing point reads two different points of the set. Like `Cycle.sample` and
`Cycle.from_seed`, `sample_pairs` serves training and `pairs_from_seed` evaluation.

Both return indices (sets, heads, 2 * rows): the first points of all pairs, then the second ones. With a `mask`, only
real points are drawn. The only point of a set is drawn twice; an empty set yields indices of padding. A seed draws
places in the list of points, or, given `points`, places in their canonical order: then the order does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..cycles import random_integers, real_first, seeded_keys
from ..geometry.point_keys import TIE_BITS, canonical_order, point_keys

CHANCE_BITS = 32  # of the random numbers behind the indices; `seeded_keys` gives as many


def sample_pairs(
    rows: int,
    n: int,
    *,
    sets: int = 1,
    heads: int = 1,
    mask: Tensor | None = None,
    generator: torch.Generator | None = None,
    device: torch.device | str = "cpu",
) -> Tensor:
    """Draw pairs uniformly and independently for every set, head and row, (sets, heads, 2 * rows).

    Args:
        rows: number of pairs per set and head, m.
        n: number of points per set.
        sets: sets with pairs of their own; 1 lets a plain batch share them.
        heads: heads with pairs of their own; 1 lets all heads share them.
        mask: (sets, n), True where a point is real.
        generator: source of the random numbers (default: torch's global one).
        device: device of the result.
    """
    chance = random_integers(1 << CHANCE_BITS, (sets, heads, 2 * rows), generator, torch.device(device))
    return _pick(chance, n, mask)


def pairs_from_seed(
    seed: int | Sequence[int],
    rows: int,
    n: int,
    *,
    heads: int = 1,
    mask: Tensor | None = None,
    device: torch.device | str = "cpu",
    points: Tensor | None = None,
) -> Tensor:
    """The pairs that follow from the seed and the size of a set, (1 or sets, heads, 2 * rows).

    With `points` (sets, n, coordinates) they name the same points in any order of the set.
    """
    return _pick(seeded_keys(seed, heads, torch.arange(2 * rows, device=device))[None], n, mask, points)


def row_pairs_from_seed(
    seed: int | Sequence[int],
    rows: int,
    n: int,
    heads: int,
    row_mask: Tensor | None,
    mask: Tensor | None,
    device: torch.device | str = "cpu",
    row_points: Tensor | None = None,
    points: Tensor | None = None,
) -> Tensor:
    """`pairs_from_seed` for rows that are points themselves, (1 or sets, heads, 2 * rows).

    A row's pair follows from its place among the real rows, so that padding (`row_mask`, (sets, rows)) changes nothing;
    or from its own position, given `row_points` (sets, rows, coordinates).
    """
    if row_points is not None:
        place = (point_keys(row_points, row_mask) >> TIE_BITS)[:, None]
    elif row_mask is not None:
        place = (row_mask.cumsum(1) - 1).clamp(min=0)[:, None]
    else:
        place = torch.arange(rows, device=device)
    chance = torch.cat([seeded_keys(seed, heads, 2 * place), seeded_keys(seed, heads, 2 * place + 1)], -1)
    return _pick(chance[None] if chance.dim() == 2 else chance, n, mask, points)


def _pick(chance: Tensor, n: int, mask: Tensor | None, points: Tensor | None = None) -> Tensor:
    """Turn random numbers (sets, heads, 2 * rows) into indices of points."""
    if mask is None:
        rank = _two_different(chance, torch.full((), n, device=chance.device))
    else:
        rank = _two_different(chance, mask.sum(1)[:, None, None].clamp(min=1))
    if points is not None:
        order = canonical_order(points, mask)
    elif mask is not None:
        order = real_first(mask)
    else:
        return rank
    order = order[:, None].expand(-1, rank.shape[1], -1)
    return order.gather(2, rank.expand(order.shape[0], -1, -1))


def _two_different(chance: Tensor, size: Tensor) -> Tensor:
    """Pairs of different places below `size` from two halves of random numbers below 2^32.

    one = floor(u size), two = (one + 1 + floor(v (size - 1))) mod size, with u = chance / 2^32 and v likewise.
    """
    half = chance.shape[-1] // 2  # `chunk` would fix the number of rows of an exported graph
    one, two = chance[..., :half], chance[..., half:]
    one = (one * size) >> CHANCE_BITS
    two = (one + 1 + ((two * (size - 1)) >> CHANCE_BITS)) % size
    return torch.cat(torch.broadcast_tensors(one, two), -1)
