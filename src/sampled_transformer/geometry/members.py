"""The nearest points of a few centres, in no order: faster than a search that sorts them."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ..sets import check_points
from .precision import result_dtype
from .squares import sum_of_squares
from .tracing import exporting, uncompiled

DEVICE_CHUNK = 1 << 22  # distances at a time on other devices than the CPU
TINY = 1e-36  # squares below it lose their digits in float32


@uncompiled
@torch.no_grad()
def nearest_members(points: Tensor, centres: Tensor, size: int) -> Tensor:
    """The `size` nearest points of each centre, (batch, groups, size), in no order.

    Of points at the same distance, in the type and rounding of `sum_of_squares`, those with the lowest index are taken,
    on every device, and also in compiled and exported networks.

    Args:
        points: (batch, n, dimension), with at least `size` points.
        centres: (batch, groups, dimension).
        size: Points per centre.
    """
    points, centres = points.detach(), centres.detach()
    if exporting():
        return _search(points, centres, size)
    found = _select(points, centres, size) if points.device.type == "cpu" else None
    if found is None:
        check_points(points, "points", None, None)
        check_points(centres, "centres", None, None)
        found = _search_in_chunks(points, centres, size)
    return found


def _search(points: Tensor, centres: Tensor, size: int) -> Tensor:
    """The obvious way, all distances at once, with operations that ONNX has.

    torch says nothing about which of equal values `topk` takes. So we look for the last distance first, and then for
    the smallest of keys that are all different.
    """
    dtype, n = result_dtype(points, centres), points.shape[1]
    ways = (
        one.unsqueeze(1) - other.unsqueeze(2)
        for one, other in zip(points.to(dtype).unbind(-1), centres.to(dtype).unbind(-1), strict=True)
    )
    squared = sum_of_squares(ways)
    border = squared.topk(size, largest=False).values[..., -1:]
    place = torch.arange(n, device=points.device)
    keys = place + n * (squared >= border).long() + n * (squared > border).long()
    return keys.topk(size, largest=False).indices


def _search_in_chunks(points: Tensor, centres: Tensor, size: int) -> Tensor:
    groups = max(1, DEVICE_CHUNK // max(1, points.shape[0] * points.shape[1]))
    return torch.cat([_search(points, some, size) for some in centres.split(groups, 1)], 1)


def _select(points: Tensor, centres: Tensor, size: int) -> Tensor | None:
    """The same by numpy, (batch, groups, size); None where squares are too large for float32, or not finite.

    numpy finds the `size`-th smallest of a thousand distances five times faster than torch does, and a group needs no
    order. |p|^2 - 2 p.c takes one multiplication of matrices. Its rounding may change the order of points that are
    almost as near as the last one, so we compute their distances again.
    """
    with torch.autocast("cpu", enabled=False):  # numpy has no bfloat16, and distances need more digits
        dtype = result_dtype(points, centres)
        return _select_exactly(points.to(dtype), centres.to(dtype), size)


def _select_exactly(points: Tensor, centres: Tensor, size: int) -> Tensor | None:
    middle = points.mean(1, keepdim=True)  # far from the origin the squares would leave no digits for the distances
    near, around = (points - middle).float(), (centres - middle).float()
    norms, across = near.square().sum(2).unsqueeze(1), near.transpose(1, 2)
    sets, groups, n, dimension = *centres.shape[:2], *points.shape[1:]
    if sets == 0 or groups == 0:
        return torch.empty((sets, groups, size), dtype=torch.int64)
    largest = torch.maximum(norms.amax((1, 2)), around.square().sum(2).amax(1)).tolist()
    if not math.isfinite(4 * sum(largest)):
        return None
    squared = near.new_empty((1, groups, n))  # of one set: that of a batch would not stay in the cache
    rows = squared[0].numpy()
    sorted_rows, chosen = np.empty_like(rows), np.empty(rows.shape, bool)
    index = np.empty((sets, groups * size), np.int64)
    for number in range(sets):
        one = slice(number, number + 1)
        # |p - c|^2 without |c|^2, which does not change the order
        torch.baddbmm(norms[one], around[one], across[one], alpha=-2, out=squared)
        np.copyto(sorted_rows, rows)
        sorted_rows.partition(size - 1, axis=1)
        # Twice what rounding can change in two distances: of the coordinates, of both formulas, and of their sums.
        doubt = 4 * (8 * dimension + 20) * 2.0**-24 * largest[number] + TINY
        np.less_equal(rows, sorted_rows[:, size - 1 : size] + np.float32(doubt), out=chosen)
        found = np.flatnonzero(chosen)
        if len(found) != groups * size:
            found = _without_the_farthest(found, points[number].numpy(), centres[number].numpy(), size)
        index[number] = found
    return torch.from_numpy(index % n).view(sets, groups, size)


def _without_the_farthest(found: np.ndarray, points: np.ndarray, centres: np.ndarray, size: int) -> np.ndarray:
    """Of pairs `centre * n + point`, sorted, the `size` nearest of every centre; of equal ones the first."""
    groups, places = np.divmod(found, len(points))
    crowded = np.flatnonzero((np.bincount(groups) > size)[groups])
    groups, places = groups[crowded], places[crowded]
    order = np.lexsort((sum_of_squares((points[places] - centres[groups]).T), groups))  # stable: the first stays first
    rank = np.arange(len(groups)) - np.searchsorted(groups, groups)
    return np.delete(found, crowded[order[rank >= size]])
