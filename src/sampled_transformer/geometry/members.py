"""The nearest points of a few centres, in no order: faster than a search that sorts them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from ..sets import check_points
from .neighbours import TREE_DIMENSION
from .precision import result_dtype
from .squares import sum_of_squares
from .tracing import exporting, uncompiled

DEVICE_CHUNK = 1 << 22  # distances at a time on other devices than the CPU
TREE_DISTANCES = 1 << 19  # of one set, from where on a tree is faster
TREE_CHUNK = 1 << 22  # neighbours that we ask a tree for at a time
ROUNDING = 2.0**-24  # of float32
TINY = 1e-36  # squares below it lose their digits in float32


@uncompiled
@torch.no_grad()
def nearest_members(points: Tensor, centres: Tensor, size: int, *, own: bool = False) -> Tensor:
    """The `size` nearest points of each centre, (batch, groups, size), in no order.

    Of points at the same distance, in the type and rounding of `sum_of_squares`, those with the lowest index are taken:
    on every device, for sets of every size, and also in compiled and exported networks.

    Args:
        points: (batch, n, dimension), with at least `size` points.
        centres: (batch, groups, dimension).
        size: Points per centre.
        own: Centre i is point i, which it then finds before all points that coincide with it.
    """
    points, centres = points.detach(), centres.detach()
    if exporting():
        return _search(points, centres, size, 0 if own else None)
    found = _select(points, centres, size, own) if points.device.type == "cpu" else None
    if found is None:
        check_points(points, "points", None, None)
        check_points(centres, "centres", None, None)
        found = _search_in_chunks(points, centres, size, own)
    return found


def _search(points: Tensor, centres: Tensor, size: int, own_begin: int | None = None) -> Tensor:
    """The obvious way, all distances at once, with operations that ONNX has. Centre i is point own_begin + i, or none.

    torch says nothing about which of equal values `topk` takes. So we look for the last distance first, and then for
    the smallest of keys that are all different.
    """
    dtype, n = result_dtype(points, centres), points.shape[1]
    ways = (
        one.unsqueeze(1) - other.unsqueeze(2)
        for one, other in zip(points.to(dtype).unbind(-1), centres.to(dtype).unbind(-1), strict=True)
    )
    squared = sum_of_squares(ways)
    place = torch.arange(n, device=points.device)
    if own_begin is not None:
        own = own_begin + torch.arange(centres.shape[1], device=points.device)
        squared = squared.masked_fill(place == own.unsqueeze(1), -1.0)
    border = squared.topk(size, largest=False).values[..., -1:]
    keys = place + n * (squared >= border).long() + n * (squared > border).long()
    return keys.topk(size, largest=False).indices


def _search_in_chunks(points: Tensor, centres: Tensor, size: int, own: bool = False) -> Tensor:
    groups = max(1, DEVICE_CHUNK // max(1, points.shape[0] * points.shape[1]))
    parts = enumerate(centres.split(groups, 1))
    return torch.cat([_search(points, some, size, number * groups if own else None) for number, some in parts], 1)


def _select(points: Tensor, centres: Tensor, size: int, own: bool) -> Tensor | None:
    """The same by numpy, (batch, groups, size); None where squares are too large for float32, or not finite."""
    with torch.autocast("cpu", enabled=False):  # numpy has no bfloat16, and distances need more digits
        dtype = result_dtype(points, centres)
        points, centres = points.to(dtype), centres.to(dtype)
        middle = points.mean(1, keepdim=True)  # far from the origin the squares would leave no digits for distances
        near, around = (points - middle).float(), (centres - middle).float()
        norms = near.square().sum(2)
        sets, groups, n = *centres.shape[:2], points.shape[1]
        if sets == 0 or groups == 0:
            return torch.empty((sets, groups, size), dtype=torch.int64)
        largest = torch.maximum(norms.amax(1), around.square().sum(2).amax(1)).tolist()
        if not math.isfinite(4 * sum(largest)):
            return None
        index = np.empty((sets, groups * size), np.int64)
        arrays = zip(points.numpy(), centres.numpy(), strict=True)
        if groups * n >= TREE_DISTANCES and points.shape[2] <= TREE_DIMENSION:
            for number, (one, other) in enumerate(arrays):
                index[number] = _pairs_of_tree(one, other, size, own)
        else:
            pairs = _near_pairs(norms, near, around, size, own, largest)
            for number, ((one, other), found) in enumerate(zip(arrays, pairs, strict=True)):
                exact = len(found) == groups * size
                index[number] = found if exact else _without_the_farthest(found, one, other, size, own)
    return torch.from_numpy(index % n).view(sets, groups, size)


def _near_pairs(
    norms: Tensor, points: Tensor, centres: Tensor, size: int, own: bool, largest: list[float]
) -> Iterator[np.ndarray]:
    """Of every set the pairs `centre * n + point` that are at most as far as the `size`-th, or almost.

    numpy finds the `size`-th smallest of a thousand distances five times faster than torch does, and a group needs no
    order. |p|^2 - 2 p.c takes one multiplication of matrices, and rounding may change the order of almost equal ones.
    """
    norms, across, dimension = norms.unsqueeze(1), points.transpose(1, 2), points.shape[2]
    squared = points.new_empty((1, centres.shape[1], points.shape[1]))  # that of a batch would not stay in the cache
    rows = squared[0].numpy()
    sorted_rows, chosen = np.empty_like(rows), np.empty(rows.shape, bool)
    for number, square in enumerate(largest):
        one = slice(number, number + 1)
        # |p - c|^2 without |c|^2, which does not change the order
        torch.baddbmm(norms[one], centres[one], across[one], alpha=-2, out=squared)
        if own:
            np.fill_diagonal(rows, -np.inf)
        np.copyto(sorted_rows, rows)
        sorted_rows.partition(size - 1, axis=1)
        # Twice what rounding can change in two distances: of the coordinates, of both formulas, and of their sums.
        doubt = np.float32(4 * (8 * dimension + 20) * ROUNDING * square + TINY)
        np.less_equal(rows, sorted_rows[:, size - 1 : size] + doubt, out=chosen)
        yield np.flatnonzero(chosen)


def _pairs_of_tree(points: np.ndarray, centres: np.ndarray, size: int, own: bool) -> np.ndarray:
    """The pairs `centre * n + point` of the nearest points of one set, sorted, from a search tree.

    A tree takes any of several equal points. So we ask for more until the last one is farther than the `size`-th.
    """
    from scipy.spatial import cKDTree

    n, asked, left = len(points), size, np.arange(len(centres))
    tree, pairs = cKDTree(points.astype(np.float64)), []
    while len(left):
        asked, unsettled = min(n, asked + max(2, asked // 4)), []
        for some in np.array_split(left, -(-len(left) * asked // TREE_CHUNK)):
            distance, found = tree.query(
                centres[some].astype(np.float64), k=range(1, asked + 1), workers=torch.get_num_threads()
            )
            squared = np.square(distance)
            border = squared[:, size - 1 : size] * (1 + 8 * (points.shape[1] + 4) * ROUNDING) + TINY
            settled = (squared[:, -1] > border[:, 0]) | (asked == n)
            rows, columns = np.nonzero((squared <= border) & settled[:, None])
            close = np.sort(some[rows] * n + found[rows, columns])
            pairs.append(_without_the_farthest(close, points, centres, size, own))
            unsettled.append(some[~settled])
        left, asked = np.concatenate(unsettled), 2 * asked
    return np.sort(np.concatenate(pairs))


def _without_the_farthest(
    pairs: np.ndarray, points: np.ndarray, centres: np.ndarray, size: int, own: bool
) -> np.ndarray:
    """Of sorted pairs `centre * n + point` the `size` nearest of every centre; of equal ones the first."""
    groups, places = np.divmod(pairs, len(points))
    crowded = np.flatnonzero((np.bincount(groups) > size)[groups])
    groups, places = groups[crowded], places[crowded]
    squared = sum_of_squares((points[places] - centres[groups]).T)
    if own:
        squared[groups == places] = -1.0
    order = np.lexsort((squared, groups))  # stable: the first stays first
    rank = np.arange(len(groups)) - np.searchsorted(groups, groups)
    return np.delete(pairs, crowded[order[rank >= size]])
