"""The nearest points of a few centres, in no order: faster than a search that sorts them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .neighbours import nearest_neighbours


@torch.no_grad()
def nearest_members(points: Tensor, centres: Tensor, size: int) -> Tensor:
    """The `size` nearest points of each centre, (batch, groups, size), in no order."""
    nearest = _select(points, centres, size)
    return nearest_neighbours(points, size, queries=centres)[0] if nearest is None else nearest


def _select(points: Tensor, centres: Tensor, size: int) -> Tensor | None:
    """The nearest points of each centre in no order, (batch, groups, size), by numpy; None where torch must do it.

    numpy finds the `size`-th smallest of a thousand distances five times faster than torch does, and a group needs no
    order. Where several points lie at exactly that distance, as in stored clouds, the first ones are taken.
    """
    if points.device.type != "cpu" or torch.compiler.is_compiling():
        return None
    with torch.autocast("cpu", enabled=False):  # numpy has no bfloat16, and distances need more digits
        return _select_exactly(points, centres, size)


def _select_exactly(points: Tensor, centres: Tensor, size: int) -> Tensor | None:
    wide = torch.promote_types(points.dtype, torch.float32)
    points, centres = points.to(wide), centres.to(wide)
    middle = points.mean(1, keepdim=True)  # far from the origin the squares would leave no digits for the distances
    points, centres = (points - middle).float(), (centres - middle).float()
    norms, across = points.square().sum(2).unsqueeze(1), points.transpose(1, 2)
    sets, groups, n = *centres.shape[:2], points.shape[1]
    squared = points.new_empty((1, groups, n))  # of one set: that of a batch would not stay in the cache
    rows = squared[0].numpy()
    sorted_rows, chosen = np.empty_like(rows), np.empty(rows.shape, bool)
    index = np.empty((sets, groups * size), np.int64)
    for number in range(sets):
        one = slice(number, number + 1)
        # |p - c|^2 without |c|^2, which does not change the order
        torch.baddbmm(norms[one], centres[one], across[one], alpha=-2, out=squared)
        np.copyto(sorted_rows, rows)
        sorted_rows.partition(size - 1, axis=1)
        border = sorted_rows[:, size - 1 : size]
        np.less_equal(rows, border, out=chosen)
        if np.count_nonzero(chosen) != groups * size:
            tied = np.flatnonzero(chosen.sum(1) > size)
            nearer, equal = rows[tied] < border[tied], rows[tied] == border[tied]
            chosen[tied] = nearer | (equal & (equal.cumsum(1) <= size - nearer.sum(1, keepdims=True)))
            if np.count_nonzero(chosen) != groups * size:  # some distances are NaN
                return None
        index[number] = np.flatnonzero(chosen)
    return torch.from_numpy(index % n).view(sets, groups, size)
