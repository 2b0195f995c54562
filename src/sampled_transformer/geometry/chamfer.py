"""Chamfer distance between point sets, differentiable in both."""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..sets import Integers, check_pair, check_points, segments
from .neighbours import find_neighbours
from .precision import result_dtype


def chamfer_distance(
    first: Tensor,
    second: Tensor,
    *,
    norm: Literal["l2", "l1"] = "l2",
    first_mask: Tensor | None = None,
    second_mask: Tensor | None = None,
    first_ptr: Integers | None = None,
    second_ptr: Integers | None = None,
    first_batch: Integers | None = None,
    second_batch: Integers | None = None,
) -> Tensor:
    """The Chamfer distance of each pair of sets, (sets,), as defined by Point-MAE.

    Let A(X, Y) = 1/|X| sum_{x in X} min_{y in Y} dist(x, y), the mean distance from X to Y. Then

    - "l2": A(first, second) + A(second, first), with dist the squared Euclidean distance;
    - "l1": (A(first, second) + A(second, first)) / 2, with dist the Euclidean distance.

    Two empty sets have distance 0. The distance between an empty and a non-empty set is infinite and has no gradient.
    Where points coincide the gradient is zero, also for "l1". Half-precision inputs give a float32 result.

    Args:
        first, second: (batch, n, dimension) and (batch, m, dimension), or packed (total, dimension) with both ptr or
            both batch vectors.
        norm: "l2" or "l1".
        first_mask, second_mask: (batch, n) and (batch, m), True where a point is real.
        first_ptr, second_ptr: (sets + 1,), the start and end of each packed set.
        first_batch, second_batch: (total,), the number of each point's set, instead of the ptr.
    """
    if norm not in ("l2", "l1"):
        raise ValueError(f'norm: expected "l2" or "l1", got {norm!r}')
    first, first_ptr = check_points(first, "first", first_mask, first_ptr, "first_", first_batch)
    second, second_ptr = check_points(second, "second", second_mask, second_ptr, "second_", second_batch)
    check_pair(first, second, first_ptr, second_ptr, ("first", "second", "first_", "second_"))
    with torch.no_grad():
        forward, _ = find_neighbours(second, first, 1, second_mask, first_mask, second_ptr, first_ptr, own=False)
        backward, _ = find_neighbours(first, second, 1, first_mask, second_mask, first_ptr, second_ptr, own=False)
    dtype = result_dtype(first, second)
    first, second = first.to(dtype), second.to(dtype)
    first_count, second_count = _count(first, first_mask, first_ptr), _count(second, second_mask, second_ptr)
    total = _mean(_distances(first, second, forward, norm), first_count, first_ptr)
    total = total + _mean(_distances(second, first, backward, norm), second_count, second_ptr)
    one_empty = (first_count == 0) != (second_count == 0)
    return (total if norm == "l2" else total / 2).masked_fill(one_empty, torch.inf)


def _count(points: Tensor, mask: Tensor | None, ptr: Tensor | None) -> Tensor:
    """The number of real points in each set, (sets,)."""
    if ptr is not None:
        return ptr.diff()
    return points.new_full((points.shape[0],), points.shape[1]) if mask is None else mask.sum(1)


def _distances(points: Tensor, others: Tensor, nearest: Tensor, norm: str) -> Tensor:
    """Distance from each point to its nearest other point, with gradients; zero if there is no other point."""
    indices = nearest.squeeze(-1)
    if others.shape[-2] == 0:
        others = pad(others, (0, 0, 0, 1))
    if points.ndim == 3:
        begin = torch.arange(points.shape[0], device=points.device).unsqueeze(1) * others.shape[1]
        rows = (indices.clamp(min=0) + begin).flatten()
    else:
        rows = indices.clamp(min=0)
    offset = points - others.flatten(0, -2).index_select(0, rows).view_as(points)
    squared = offset.square().sum(-1).masked_fill(indices < 0, 0.0)
    if norm == "l2":
        return squared
    apart = squared > 0  # the square root has no derivative at zero
    return torch.where(apart, squared, 1.0).sqrt() * apart


def _mean(distances: Tensor, count: Tensor, ptr: Tensor | None) -> Tensor:
    """The mean over the points of each set, (sets,)."""
    if ptr is None:
        total = distances.sum(1)
    else:
        total = distances.new_zeros(len(count)).index_add(0, segments(ptr, distances.shape[0]), distances)
    return total / count.clamp(min=1)
