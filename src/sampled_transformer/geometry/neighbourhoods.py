"""Levels of fewer and fewer points with their neighbours: what a network that labels points computes before it begins.

Nothing here is learned, and the order of the points matters only where two of them are equally near to a third.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..sets import describe, segments
from .grids import thin_by_grid
from .neighbours import find_neighbours

SPACING_RANK = 8  # the neighbour whose distance tells how far apart the points of a set are
SPREAD = 4  # neighbours whose cells a point reads on the way up
LARGEST_RATIO = 4.0  # of the logarithm of a radius to the typical one


@dataclass(frozen=True)
class Step:
    """From one level to the next, coarser one."""

    kept: Tensor  # (m',) rows that the next level keeps
    cells: Tensor  # (m, SPREAD) rows of the next level that a point reads on the way up
    shares: Tensor  # (m, SPREAD) how much of each; they add up to 1


@dataclass(frozen=True)
class Level:
    """Points of one resolution, packed, with their neighbours; `step` leads to the next one (None: there is none)."""

    points: Tensor  # (m, 3)
    ptr: Tensor  # (sets + 1,)
    neighbours: Tensor  # (m, k) rows of the same level, the point itself first; small sets repeat it
    radius: Tensor  # (m,) distance to the farthest of them; 1 where it is zero
    crowding: Tensor  # (m,) logarithm of the radius, compared with what is typical for the set
    spacing: Tensor  # (sets,) of the first level; 1 where it is zero
    step: Step | None = None
    normals: Tensor | None = None  # (m, 3), zero where they are unknown

    @torch.no_grad()
    def offsets(self, rows: Tensor | slice) -> Tensor:
        """The way w from some points to their neighbours in units of the radius, and the crowding: (rows, k, 4).

        With normals (rows, k, 7): besides, n_i . w, n_j . w and n_i . n_j, the point pair features of Drost et al.
        ("Model globally, match locally", CVPR 2010). They tell a hole from a stud, whichever way it points.
        """
        neighbours = self.neighbours[rows]
        way = self._of_neighbours(self.points, neighbours) - self.points[rows].unsqueeze(1)
        way = way / self.radius[rows].view(-1, 1, 1)
        parts = [way, self.crowding[rows].view(-1, 1, 1).expand(-1, way.shape[1], 1)]
        if self.normals is not None:
            own = self.normals[rows].unsqueeze(2)
            others = self._of_neighbours(self.normals, neighbours)
            parts += [way @ own, (way * others).sum(2, keepdim=True), others @ own]
        return torch.cat(parts, 2)

    @staticmethod
    def _of_neighbours(values: Tensor, neighbours: Tensor) -> Tensor:
        found: Tensor = values[neighbours.flatten()].unflatten(0, neighbours.shape)
        return found

    @cached_property
    def all_offsets(self) -> Tensor:
        """`offsets` of all points, kept for all layers of a training step."""
        return self.offsets(slice(None))


@torch.no_grad()
def build_levels(
    points: Tensor,
    ptr: Tensor,
    levels: int,
    neighbours: int,
    side: float,
    *,
    spacing: Tensor | None = None,
    shift: bool = False,
    normals: Tensor | None = None,
) -> list[Level]:
    """Thin packed sets by grids of growing cubes, and find the neighbours of every point of every level.

        spacing = the median, over the points of a set, of the distance to the 8th neighbour, or the last one
        level t + 1 keeps one point per cube of side * spacing * 2^t
        crowding_i = log(r_i / (spacing 2^t)),    r_i = the distance of the farthest of the k neighbours

    The unit of the coordinates changes nothing. The cost is O(n log n): one search tree per level.

    Args:
        points: Packed sets, (total, 3).
        ptr: (sets + 1,).
        levels: Number of levels; the first has all points.
        neighbours: Neighbours per point, itself included.
        side: Side of the first grid's cubes, in spacings.
        spacing: (sets,) to use instead of the measured one, so that a part of a scene is seen as in the whole scene.
        shift: Move every grid by a random vector, for training.
        normals: Of all points, (total, 3), for `Level.offsets`; zero where they are unknown.
    """
    if spacing is None and neighbours <= SPACING_RANK:
        spacing = measure_spacing(points, ptr)
    if spacing is not None and (spacing.shape != (len(ptr) - 1,) or not bool((spacing >= 0).all())):
        got = spacing.tolist() if spacing.numel() <= 8 else describe(spacing)
        raise ValueError(f"spacing: expected {len(ptr) - 1} numbers, 0 or more, one per set, got {got}")
    found: list[Level] = []
    for number in range(levels):
        rows, squared = _nearest(points, ptr, neighbours)
        if spacing is None:
            spacing = _spacing(squared, ptr)
        radius = squared.amax(1).sqrt()
        radius = torch.where(radius > 0, radius, torch.ones_like(radius))
        unit = torch.where(spacing > 0, spacing, torch.ones_like(spacing)).to(radius)
        typical = unit[segments(ptr, len(points))]
        crowding = (radius / (typical * 2.0**number)).log().clamp(-LARGEST_RATIO, LARGEST_RATIO).to(points.dtype)
        radius = radius.to(points.dtype)
        if number + 1 == levels:
            found.append(Level(points, ptr, rows, radius, crowding, unit, None, normals))
            break
        cubes = spacing * (side * 2.0**number)
        moved = torch.rand(len(ptr) - 1, 3, device=points.device) * cubes.unsqueeze(1) if shift else 0.0
        thinned = thin_by_grid(points, cubes, ptr=ptr, shift=moved)
        step = Step(thinned.kept, *_way_up(points, rows, thinned.kept, thinned.cell, radius))
        found.append(Level(points, ptr, rows, radius, crowding, unit, step, normals))
        points, ptr = points[thinned.kept], thinned.ptr
        normals = None if normals is None else normals[thinned.kept]
    return found


def measure_spacing(points: Tensor, ptr: Tensor) -> Tensor:
    """The spacing that `build_levels` measures, (sets,) in float64 on the CPU."""
    return _spacing(_nearest(points, ptr, SPACING_RANK + 1)[1], ptr)


def _nearest(points: Tensor, ptr: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Rows and squared distances of the nearest points, (total, count); small sets repeat the point itself."""
    rows, squared = find_neighbours(points, points, count, None, None, ptr, ptr, True)
    missing = rows < 0
    if missing.any():
        own = torch.arange(len(points), device=points.device).unsqueeze(1)
        rows, squared = torch.where(missing, own, rows), squared.masked_fill(missing, 0.0)
    return rows, squared


def _spacing(squared: Tensor, ptr: Tensor) -> Tensor:
    """The median distance to the 8th neighbour in each set, (sets,); 0 for sets whose points all coincide.

    A set of fewer points has its last neighbour. Points with 8 copies do not count, if there are others.
    """
    farthest = squared[:, : SPACING_RANK + 1].amax(1)
    medians = [_positive_median(own) for own in farthest.split(ptr.diff().tolist())]
    return torch.stack(medians).sqrt() if medians else farthest.new_zeros(0)


def _positive_median(values: Tensor) -> Tensor:
    positive = values[values > 0]
    return positive.median() if len(positive) else values.new_zeros(())


def _way_up(points: Tensor, rows: Tensor, kept: Tensor, cell: Tensor, radius: Tensor) -> tuple[Tensor, Tensor]:
    """For every point the kept points of its own and its nearest neighbours' cells, with shares of 1 / distance^2."""
    cells = cell[rows[:, :SPREAD]]
    way = (points[kept[cells.flatten()]].unflatten(0, cells.shape) - points.unsqueeze(1)) / radius.view(-1, 1, 1)
    weight = 1 / (way.square().sum(2) + 1e-4)  # in units of the radius, so that no unit underflows
    return cells, weight / weight.sum(1, keepdim=True)
