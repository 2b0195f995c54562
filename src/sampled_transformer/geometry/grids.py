"""Keep one point per cell of a grid: O(n log n), whatever the density of the points."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ..sets import Integers, check_points, segments
from .precision import wide_dtype
from .tracing import never_compiled

MOST_CELLS = 1 << 20  # along each axis; 60 bits for three axes
FARTHEST = 2.0**61  # cells from the origin: beyond it, all points share a cell


class Thinned(NamedTuple):
    """The points that a grid keeps, and the kept point of every point's cell."""

    kept: Tensor  # (m,) rows of the points, sets one after the other
    cell: Tensor  # (total,) for each point, the place in `kept` of the point that stands for its cell
    ptr: Tensor  # (sets + 1,) of the kept points


@never_compiled
@torch.no_grad()
def thin_by_grid(points: Tensor, side: Tensor | float, *, ptr: Integers, shift: Tensor | float = 0.0) -> Thinned:
    """Divide space into cubes and keep, of the points in each cube, the one nearest to its middle.

        cell_i = floor((p_i + shift) / side)

    The cubes do not depend on the other points, so a part of a scene keeps the same points as the whole scene does.
    Nor does the order of the points matter, unless two of them are equally near to the middle: then the first stays.

    Args:
        points: Packed sets, (total, dimension) with at most 3 dimensions.
        side: Side of the cubes: one number, or one per set, (sets,). It may be zero for sets whose points all coincide.
        ptr: (sets + 1,), the start and end of each set.
        shift: Moves the grid: one number, or (sets, dimension).
    """
    points, checked = check_points(points, "points", None, ptr)
    assert checked is not None
    ptr = checked
    total, dimension = points.shape
    if dimension > 3:
        raise ValueError(f"points: expected at most 3 coordinates for a grid, got {dimension}")
    number = segments(ptr, total)
    wide = wide_dtype(points)
    sides = torch.as_tensor(side, dtype=wide, device=points.device).expand(len(ptr) - 1)
    shifts = torch.as_tensor(shift, dtype=wide, device=points.device).expand(len(ptr) - 1, dimension)
    sides = torch.where(sides > 0, sides, torch.ones_like(sides))
    place = (points.to(wide) + shifts[number]) / sides[number].unsqueeze(1)
    cells = place.floor()
    from_middle = (place - cells - 0.5).square().sum(1)
    cells = cells.clamp(-FARTHEST, FARTHEST).long()
    key = _keys(cells - _lowest(cells, number, len(ptr) - 1))
    order = from_middle.argsort(stable=True)
    order = order[key[order].argsort(stable=True)]
    if len(ptr) > 2:
        order = order[number[order].argsort(stable=True)]
    key, number = key[order], number[order]
    first = torch.ones(total, dtype=torch.bool, device=points.device)
    first[1:] = (key[1:] != key[:-1]) | (number[1:] != number[:-1])
    cell = torch.empty_like(order)
    cell[order] = first.cumsum(0) - 1
    counts = torch.bincount(number[first], minlength=len(ptr) - 1)
    return Thinned(order[first], cell, torch.cat([counts.new_zeros(1), counts.cumsum(0)]))


def _keys(cells: Tensor) -> Tensor:
    """One number per point, (total,), the same for the points of a cell and no others within a set."""
    key = cells.new_zeros(len(cells))
    if len(cells) and int(cells.max()) >= MOST_CELLS:  # a stray point far from the others: number the cells in use
        for axis in cells.unbind(1):
            _, rank = axis.unique(return_inverse=True)
            _, key = (key * len(cells) + rank).unique(return_inverse=True)
        return key
    for axis in cells.unbind(1):
        key = key * MOST_CELLS + axis
    return key


def _lowest(cells: Tensor, number: Tensor, sets: int) -> Tensor:
    """The lowest cell of each point's set along every axis, (total, dimension)."""
    index = number.unsqueeze(1).expand_as(cells)
    none = cells.new_zeros(sets, cells.shape[1])
    return none.scatter_reduce(0, index, cells, "amin", include_self=False).gather(0, index)
