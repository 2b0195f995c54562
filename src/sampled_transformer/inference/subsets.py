"""Deal the points of a set into subsets that each cover all of it, as cards are dealt.

The points are sorted along a Hilbert curve, and subset k of m gets the points k, k + m, k + 2m, ... of that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import torch

from ..geometry.curves import curve_codes
from ..support.memory import release_pages
from ..support.workspace import SLICE, Workspace, pieces
from ..training.point_loading import PointView

BITS = 20
SAMPLES = 64  # codes to look at per part that is sorted in memory


class Placement:
    """How a network sees the positions of a set: (positions - origin) / scale, as `PointView.place` does."""

    def __init__(self, view: PointView, positions: np.ndarray) -> None:
        bounds = [(some.min(0), some.max(0), some.sum(0)) for _, some in pieces(positions)]
        lower, upper = np.min([one[0] for one in bounds], axis=0), np.max([one[1] for one in bounds], axis=0)
        self.scale = 1.0
        if view.size == "kept":
            self.origin = np.array([*(lower[:2] + upper[:2]) / 2, lower[2]])
        else:
            self.origin = np.sum([one[2] for one in bounds], axis=0) / len(positions)
            largest = max(float(np.square(some - self.origin).sum(1).max()) for _, some in pieces(positions))
            self.scale = float(np.sqrt(largest)) or 1.0
        self.lower, self.upper = self(lower), self(upper)

    def __call__(self, positions: np.ndarray) -> np.ndarray:
        """Positions (n, 3) of the set as the network sees them, in float64."""
        placed: np.ndarray = (np.asarray(positions, np.float64) - self.origin) / self.scale
        return placed


def dealt(placement: Placement, positions: np.ndarray, size: int, space: Workspace) -> Iterator[list[np.ndarray]]:
    """Rows of subsets of at most `size` points: lists of some subsets, so that a list has about `SLICE` points."""
    count = len(positions)
    decks = -(-count // size)
    order = _order(placement, positions, space)
    together = max(1, SLICE // size)
    for begin in range(0, decks, together):
        last = min(begin + together, decks)
        hands = [np.array(order[number::decks]) for number in range(begin, last)]
        release_pages(order)
        yield hands


def _order(placement: Placement, positions: np.ndarray, space: Workspace) -> np.ndarray:
    """The rows of all points along the curve; points of one cell keep their order."""
    codes = space.zeros((len(positions),), np.int64)
    lower = torch.from_numpy(placement.lower)
    side = torch.tensor(float((placement.upper - placement.lower).max()), dtype=torch.float64)
    for some, own in pieces(positions):
        codes[some] = curve_codes(torch.from_numpy(placement(own)), lower, side, "hilbert", bits=BITS).numpy()
        release_pages(codes)
    if space.folder is None:
        return codes.argsort(kind="stable")
    return _sorted_apart(codes, space)


def _sorted_apart(codes: np.ndarray, space: Workspace) -> np.ndarray:
    """The stable order of codes that are on disk: one range of them after the other is sorted in memory.

    Some of the codes tell the ranges, so that each has about `SLICE`. Equal codes are never apart.
    """
    parts = -(-len(codes) // SLICE)
    known = np.sort(codes[:: max(1, len(codes) // (SAMPLES * parts))])
    release_pages(codes)
    cuts = np.unique(known[np.arange(1, parts) * len(known) // parts])
    edges = [np.iinfo(np.int64).min, *cuts.tolist(), np.iinfo(np.int64).max]
    order = space.zeros((len(codes),), np.int64)
    begin = 0
    for low, high in pairwise(edges):
        rows, own = [], []
        for some, values in pieces(codes):
            inside = np.flatnonzero((values >= low) & (values < high))
            rows.append(inside + some.start)
            own.append(np.asarray(values[inside]))
        found = np.concatenate(rows)
        order[begin : begin + len(found)] = found[np.concatenate(own).argsort(kind="stable")]
        release_pages(order)
        begin += len(found)
    return order
