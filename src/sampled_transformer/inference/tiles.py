"""Cut a large scene into tiles of a bounded number of points, each with a margin that it shares with its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

CELLS = 1024  # of the grid of counts, along its longer side
SLICE = 1 << 20  # points to look at a time, so that memory stays flat


class Tile(NamedTuple):
    """A rectangle on the ground: the points inside have their home here."""

    lower: np.ndarray  # (2,)
    upper: np.ndarray  # (2,)

    def distance(self, points: np.ndarray) -> np.ndarray:
        """How far points (n, 3) lie outside the rectangle along the ground; 0 inside."""
        ground = points[:, :2]
        outside = np.maximum(self.lower - ground, ground - self.upper).max(1)
        return np.maximum(outside, 0.0)


def slices(total: int) -> Iterator[slice]:
    """The rows of a long array, some at a time."""
    for begin in range(0, total, SLICE):
        yield slice(begin, min(begin + SLICE, total))


def plan_tiles(points: np.ndarray, most: int) -> list[Tile]:
    """Rectangles that cover all points and have at most `most` of them each, without their margins.

    We count the points in a grid of cells on the ground and halve the scene, where it is longer, until every piece is
    small enough: O(n), whatever the order. A single cell is never cut.

    Args:
        points: (n, 3), an array or a memory map.
        most: Points per tile.
    """
    lower = np.min([points[some, :2].min(0) for some in slices(len(points))], axis=0)
    upper = np.max([points[some, :2].max(0) for some in slices(len(points))], axis=0)
    cell = max(float((upper - lower).max()) / CELLS, np.finfo(np.float64).tiny)
    shape = np.minimum(((upper - lower) / cell).astype(np.int64) + 1, CELLS + 1)
    counts = np.zeros(shape, np.int64)
    for some in slices(len(points)):
        place = np.minimum(((points[some, :2] - lower) / cell).astype(np.int64), shape - 1)
        np.add.at(counts, tuple(place.T), 1)
    edges = [np.append(low + cell * np.arange(size), np.inf) for low, size in zip(lower, shape, strict=True)]
    for edge in edges:
        edge[0] = -np.inf
    boxes = _halved(counts, most, (0, 0))
    return [Tile(np.array([edges[0][a], edges[1][b]]), np.array([edges[0][c], edges[1][d]])) for a, b, c, d in boxes]


def _halved(counts: np.ndarray, most: int, start: tuple[int, int]) -> list[tuple[int, int, int, int]]:
    """Boxes of cells, (first row, first column, last row, last column) with the last ones excluded."""
    total = int(counts.sum())
    if total == 0:
        return []
    if total <= most or counts.shape == (1, 1):
        return [(*start, start[0] + counts.shape[0], start[1] + counts.shape[1])]
    axis = int(counts.shape[1] > counts.shape[0])
    along = counts.sum(1 - axis).cumsum()
    cut = int(np.clip(np.searchsorted(along, total / 2) + 1, 1, counts.shape[axis] - 1))
    first, second = np.split(counts, [cut], axis)
    further = (start[0] + cut, start[1]) if axis == 0 else (start[0], start[1] + cut)
    return _halved(first, most, start) + _halved(second, most, further)
