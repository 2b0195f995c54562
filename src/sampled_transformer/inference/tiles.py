"""Cut a large scene into tiles of a bounded number of points, each with a margin that it shares with its neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..support.workspace import pieces

CELLS = 1024  # of the grid of counts, along its longer side


class Tile(NamedTuple):
    """A rectangle on the ground: the points inside have their home here."""

    lower: np.ndarray  # (2,)
    upper: np.ndarray  # (2,)

    def distance(self, points: np.ndarray) -> np.ndarray:
        """How far points (n, 3) lie outside the rectangle along the ground; 0 inside."""
        ground = points[:, :2]
        outside: np.ndarray = np.maximum(self.lower - ground, ground - self.upper).max(1)
        return outside.clip(min=0.0)


def plan_tiles(points: np.ndarray, most: int) -> list[Tile]:
    """Rectangles that cover all points and have at most `most` of them each, without their margins.

    We count the points in a grid of cells on the ground and halve the scene, where it is longer, until every piece is
    small enough: O(n), whatever the order. A cell that has too many, as all others have if a stray point lies far away,
    gets a grid of its own. Only points that coincide on the ground are never cut.

    Args:
        points: (n, 3), an array or a memory map.
        most: Points per tile.
    """
    return _cut(points, most, Tile(np.full(2, -np.inf), np.full(2, np.inf)))


def _cut(points: np.ndarray, most: int, home: Tile) -> list[Tile]:
    """Tiles of the points inside `home`."""
    bounds = [(one.min(0), one.max(0)) for one in _ground(points, home)]
    lower, upper = np.min([low for low, _ in bounds], axis=0), np.max([high for _, high in bounds], axis=0)
    cell = float((upper - lower).max()) / CELLS
    if cell <= 4 * np.spacing(max(np.abs(lower).max(), np.abs(upper).max())):  # they coincide, but for rounding
        return [home]
    shape = np.minimum(((upper - lower) / cell).astype(np.int64) + 1, CELLS + 1)
    edges = [np.append(low + cell * np.arange(size), np.inf) for low, size in zip(lower, shape, strict=True)]
    counts = np.zeros(shape, np.int64)
    for one in _ground(points, home):
        place = [np.searchsorted(edge, values, "right") - 1 for edge, values in zip(edges, one.T, strict=True)]
        np.add.at(counts, tuple(place), 1)
    for axis, edge in enumerate(edges):
        edge[0], edge[-1] = home.lower[axis], home.upper[axis]
    tiles = []
    for a, b, c, d in _halved(counts, most, (0, 0)):
        tile = Tile(np.array([edges[0][a], edges[1][b]]), np.array([edges[0][c], edges[1][d]]))
        tiles += [tile] if int(counts[a:c, b:d].sum()) <= most else _cut(points, most, tile)
    return tiles


def _ground(points: np.ndarray, home: Tile) -> Iterator[np.ndarray]:
    """The points inside a tile as (n, 2), some at a time."""
    for _, some in pieces(points):
        own = _inside(some[:, :2], home)
        if len(own):
            yield own


def _inside(ground: np.ndarray, home: Tile) -> np.ndarray:
    """The points (n, 2) that belong to a tile: its lower edges do, its upper edges do not."""
    if np.isneginf(home.lower).all() and np.isposinf(home.upper).all():
        return ground
    found: np.ndarray = ground[((ground >= home.lower) & (ground < home.upper)).all(1)]
    return found


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
