"""Draw by content: points and triangles name themselves, so that neither their order nor a file name matters."""

from __future__ import annotations

import numpy as np

from ..support.memory import release_pages
from ..support.workspace import SLICE, Workspace, pieces, take
from .formats.meshes import Mesh

# Factors and shifts of SplitMix64.
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)

CELLS = 2**20  # along the longest side of a shape: coarse against rounding, fine against the distance of points


def row_keys(table: np.ndarray, seed: int = 0) -> np.ndarray:
    """A 64-bit hash of each row (n, columns) of numbers, from all bits of their float64 values; -0.0 counts as 0.0."""
    keys = np.full(len(table), seed, np.uint64)
    for column in table.T:
        keys = _mix(keys ^ (column + 0.0).astype(np.float64).view(np.uint64))
    return keys


def cells(points: np.ndarray, low: np.ndarray | None = None, side: float | None = None) -> np.ndarray:
    """The cell of every point in a fine grid over the bounding cube: the same in any unit and at any place.

    Exact bits would not be: a file in millimetres holds other floats than the same file in metres. The lowest corner
    and the side of the cube are those of the points, unless they are given.
    """
    low = points.min(0) if low is None else low
    side = float((points.max(0) - low).max()) if side is None else side
    found: np.ndarray = points - low  # and on in place, because clouds are large
    found /= side if side > 0 else 1.0
    found *= CELLS
    np.rint(found, out=found)
    return found


def drawn_rows(points: np.ndarray, count: int, normals: np.ndarray | None = None, seed: int = 0) -> np.ndarray:
    """`count` random rows, or all if there are fewer: those with the smallest hashes, in the order of these.

    This is a uniform draw without repetition, in random order, and the same points come out in any order of the rows.
    Every point of a cell has its own hash; exact places and normals decide which point of a cell gets which.
    """
    keys = _own_keys(points, normals, seed)
    most = min(count, len(keys))
    rows = np.argpartition(keys, most - 1)[:most]
    drawn: np.ndarray = rows[np.argsort(keys[rows], kind="stable")]
    return drawn


def filled(points: np.ndarray, count: int, normals: np.ndarray | None = None, seed: int = 0) -> np.ndarray:
    """Which of n drawn points are read to get `count` of them: the first, or all and then random ones again.

    A network that is trained on random copies does not know a cloud in which every point comes equally often. Each
    point draws from its own hash the times of a Poisson process at which it comes again, and the earliest of all are
    taken: that is drawing with replacement. Where a hash changes with the unit, at the edge of a cell, only that
    point has other copies.
    """
    more = count - len(points)
    if more <= 0:
        return np.arange(count)
    mean = more / len(points)
    most = int(mean + 4 * mean**0.5) + 5  # copies of a point; it hardly ever has more
    steps = _STEP * np.arange(most, dtype=np.uint64)
    bits = _mix(_own_keys(points, normals, seed)[:, None] + steps)
    times = np.cumsum(-np.log(((bits >> np.uint64(11)) + np.uint64(1)) * 2.0**-53), axis=1).ravel()
    earliest = np.argpartition(times, more - 1)[:more]
    earliest = earliest[np.argsort(times[earliest], kind="stable")]
    return np.concatenate([np.arange(len(points)), earliest // most])


def distinct_first(points: np.ndarray, normals: np.ndarray | None = None) -> tuple[np.ndarray | slice, int]:
    """An order in which every point comes before its copies, and how many points differ in place or normal."""
    keys = row_keys(points if normals is None else np.concatenate([points, normals], 1))
    first = np.unique(keys, return_index=True)[1]
    is_copy = np.ones(len(keys), bool)
    is_copy[first] = False
    if not is_copy[: len(first)].any():  # large draws need not be copied
        return slice(None), len(first)
    return np.argsort(is_copy, kind="stable"), len(first)


def drawn_rows_on_disk(
    points: np.ndarray, count: int, normals: np.ndarray | None = None, seed: int = 0, *, space: Workspace
) -> np.ndarray:
    """As `drawn_rows`, for points in memory maps: the memory is that of a part of them.

    Points of one cell have one hash, so that each part, all hashes of a range, can be looked at alone.
    """
    bounds = [(some.min(0), some.max(0)) for _, some in pieces(points)]
    low, high = np.min([one for one, _ in bounds], axis=0), np.max([one for _, one in bounds], axis=0)
    side = float((high - low).max())
    keys = space.zeros((len(points),), np.uint64)
    for some, own in pieces(points):
        keys[some] = row_keys(cells(own, low, side), seed)
        release_pages(keys)
    parts = -(-len(keys) // SLICE)
    edges = [part * (2**64 // parts) for part in range(parts)]
    best, kept = np.empty(0, np.uint64), np.empty(0, np.int64)
    for first, last in zip(edges, [*(edge - 1 for edge in edges[1:]), 2**64 - 1], strict=True):
        rows = np.concatenate(
            [np.flatnonzero((own >= first) & (own <= np.uint64(last))) + some.start for some, own in pieces(keys)]
        )
        own = take(keys, rows)
        if len(np.unique(own)) < len(own):
            tie = row_keys(take(points, rows))
            own = _tell_copies_apart(own, tie if normals is None else _mix(tie ^ row_keys(take(normals, rows))))
        best, kept = np.concatenate([best, own]), np.concatenate([kept, rows])
        smallest = np.argpartition(best, count - 1)[:count] if len(best) > count else slice(None)
        best, kept = best[smallest], kept[smallest]
    drawn: np.ndarray = kept[np.argsort(best, kind="stable")]
    return drawn


def canonical_mesh(mesh: Mesh) -> tuple[Mesh, int]:
    """The same triangles in an order that follows from their corners alone, and a hash of all of them.

    Every triangle begins at the corner with the smallest hash; which side is outside does not change.
    """
    corners, exact = row_keys(cells(mesh.vertices))[mesh.faces], row_keys(mesh.vertices)  # (m, 3), (n,)
    turn = (_first_corners(corners, exact[mesh.faces])[:, None] + np.arange(3)) % 3
    rows = np.arange(len(turn))[:, None]
    faces, corners = mesh.faces[rows, turn], corners[rows, turn]
    keys = _joined(corners)
    order = np.lexsort((_joined(exact[faces]), keys))  # exact corners order triangles of equal cells
    places = np.arange(1, len(keys) + 1, dtype=np.uint64)
    return Mesh(mesh.vertices, faces[order]), int(_mix(keys[order] ^ _mix(places)).sum(dtype=np.uint64))


def _own_keys(points: np.ndarray, normals: np.ndarray | None, seed: int) -> np.ndarray:
    """A hash of its own for every point, also for those of one cell."""
    keys = row_keys(cells(points), seed)
    ordered = np.sort(keys)
    if (ordered[1:] == ordered[:-1]).any():
        exact = row_keys(points)
        keys = _tell_copies_apart(keys, exact if normals is None else _mix(exact ^ row_keys(normals)))
    return keys


def _first_corners(corners: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Where each triangle begins, (m,): at its smallest key, and of equal ones at that with the smaller keys after it.

    A triangle has equal keys if it is so thin that two corners share a cell. Then we compare what follows, and at last
    the exact keys, so that it does not matter which corner a file names first.
    """
    first: np.ndarray = corners.argmin(1)
    thin = np.flatnonzero((corners == corners.min(1, keepdims=True)).sum(1) > 1)
    keys = np.concatenate([corners[thin], exact[thin]], 1).reshape(-1, 2, 3)
    best, rows = keys.reshape(-1, 6), np.arange(len(thin))
    first[thin] = 0
    for turn in (1, 2):
        other = np.roll(keys, -turn, 2).reshape(-1, 6)
        column = (other != best).argmax(1)  # the first that differs
        smaller = other[rows, column] < best[rows, column]
        best = np.where(smaller[:, None], other, best)
        first[thin[smaller]] = turn
    return first


def _joined(corners: np.ndarray) -> np.ndarray:
    """One key from the keys of the corners of each triangle, (m, 3), in their order."""
    keys = np.zeros(len(corners), np.uint64)
    for corner in corners.T:
        keys = _mix(keys ^ corner)
    return keys


def _tell_copies_apart(keys: np.ndarray, tie: np.ndarray) -> np.ndarray:
    """Give the second, third, ... of equal keys keys of their own; of equal ties, any may be the first."""
    order = np.lexsort((tie, keys))
    ordered = keys[order]
    first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    sizes = np.diff(np.append(first, len(keys)))
    copy = (np.arange(len(keys)) - np.repeat(first, sizes)).astype(np.uint64)
    apart = np.empty_like(keys)
    apart[order] = np.where(copy > 0, _mix(ordered + copy), ordered)
    return apart


def _mix(keys: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64, an invertible hash (Steele et al. 2014, https://doi.org/10.1145/2660193.2660195)."""
    keys = keys + _STEP  # a copy, and on in place
    for shift, factor in zip(_SHIFTS, (_FIRST, _SECOND), strict=False):
        keys ^= keys >> shift
        keys *= factor
    keys ^= keys >> _SHIFTS[2]
    return keys
