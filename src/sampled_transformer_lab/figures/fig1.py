"""Fig. 1 of the paper: from dense attention to sampled attention, drawn from one random `Cycle`.

    (a) dense attention        all pairs
    (b) after sampling         `Cycle.subsets(n_s)`, dense inside                                   (Eq. 3)
    (c) Hamiltonian attention  `theory.patterns.path` inside each subset                            (Eq. 4)
    (d) cycle attention        `Cycle.mask` with the points in the order of the cycle
    (e) swap points            the same after `Cycle.permute` has exchanged two points
    (f) sampled attention      `Cycle.mask` with the points in their own order

Every panel has the attention matrix, whose row k is filled where point k attends to the column's point, and beside it
the same as a graph. The colours are those of the subsets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch

from sampled_transformer.cycles import Cycle
from sampled_transformer.theory.patterns import path

from .shapes import (
    COLOURS,
    FAINT,
    INK,
    PAPER,
    SOFT,
    Circle,
    Drawing,
    Line,
    Point,
    Polygon,
    Shape,
    Text,
    arrow,
    moved,
    rectangle,
)

SEED = 7
LARGEST = 40  # more points make cells too small to see
SIDE, HEAD, APART, MARGIN = 204.0, 68.0, 44.0, 30.0  # of a matrix and a graph; of a title; between them; around panels
PANEL = 2 * SIDE + APART, SIDE + HEAD + 24
Mask = list[list[bool]]


@dataclass(frozen=True)
class Stages:
    """What the panels show. Points are numbered as in the set; `walk` lists them along the cycle.

    Args:
        cycle: the random cycle.
        size: n_s.
    """

    cycle: Cycle
    size: int

    @property
    def n(self) -> int:
        return self.cycle.n

    @property
    def walk(self) -> list[int]:
        return [int(point) for point in self.cycle.order[0]]

    @property
    def subsets(self) -> list[list[int]]:
        """The subsets X^i of Eq. 3; neighbours share a point."""
        return [[point for point in window if point >= 0] for window in self.cycle.subsets(self.size)[0].tolist()]

    @property
    def home(self) -> dict[int, int]:
        """The number i of the index set R^i that holds each point; these sets are disjoint."""
        members = self.cycle.members(self.size)[0].tolist()
        return {point: number for number, window in enumerate(members) for point in window if point >= 0}

    @property
    def swapped(self) -> list[int]:
        """The walk after two of its points have changed places."""
        walk = self.walk
        one, two = 1 % self.n, (1 + self.n // 2) % self.n
        walk[one], walk[two] = walk[two], walk[one]
        return walk

    def mask(self, points: Sequence[int]) -> Mask:
        """The pattern of the cycle, with rows and columns in the order of `points`."""
        mask: Mask = self.cycle.permute(torch.tensor(points)).mask()[0].tolist()
        return mask

    def dense_inside(self) -> list[list[list[int]]]:
        """The numbers of the subsets that hold both points of each pair, in the order of the walk."""
        subsets = [set(subset) for subset in self.subsets]
        return [
            [[number for number, subset in enumerate(subsets) if {row, column} <= subset] for column in self.walk]
            for row in self.walk
        ]


def fig1(n: int = 12, subset: int = 4, seed: int = SEED) -> Drawing:
    """Fig. 1 for n points and subsets of n_s = `subset` points."""
    if not 3 <= n <= LARGEST:
        raise ValueError(f"points: expected 3 to {LARGEST}, got {n}")
    if not 2 <= subset <= n + 1:
        raise ValueError(f"subset: expected 2 to {n + 1}, got {subset}")
    stages = Stages(Cycle.from_seed(seed, n), subset)
    width, height = 2 * PANEL[0] + 3 * MARGIN + 20, 3 * PANEL[1] + 62
    drawing = Drawing(round(width), round(height), "Fig. 1: from dense attention to sampled attention")
    for number, panel in enumerate((dense, after_sampling, hamiltonian, whole_cycle, swap_points, sampled)):
        left = MARGIN + 20 + (number % 2) * (PANEL[0] + MARGIN)
        top = 10 + (number // 2) * PANEL[1]
        drawing.add(moved(shape, left, top) for shape in panel(stages))
    drawing.add(legend(stages, MARGIN, height - 42))
    return drawing


def dense(stages: Stages) -> Iterator[Shape]:
    points, places = list(range(stages.n)), ring(stages.n)
    yield from heading("(a) Dense attention", f"all pairs: {stages.n} x {stages.n} = {stages.n**2} entries")
    yield from labels(points)
    yield from matrix([[[SOFT]] * stages.n for _ in points])
    for one in range(stages.n):
        for two in range(one):
            yield Line((places[one], places[two]), SOFT, 0.7, kind="edge")
    yield from nodes(points, places)


def counted(stages: Stages) -> str:
    """ "1 subset", "4 subsets"."""
    return f"{len(stages.subsets)} subset{'s' * (len(stages.subsets) > 1)}"


def after_sampling(stages: Stages) -> Iterator[Shape]:
    owners, walk, places = stages.dense_inside(), stages.walk, ring(stages.n)
    entries = sum(bool(cell) for row in owners for cell in row)
    sizes = sorted({len(subset) for subset in stages.subsets})
    text = f"{counted(stages)} of {' or '.join(map(str, sizes))} points: {entries} entries"
    yield from heading("(b) After sampling", text)
    yield from labels(walk)
    yield from matrix([[[colour(stages, owner) for owner in cell] for cell in row] for row in owners])
    for number, subset in enumerate(stages.subsets):
        for one in subset:
            for two in subset:
                if one < two:
                    pair = places[walk.index(one)], places[walk.index(two)]
                    yield Line(pair, colour(stages, number), 1.4, kind="edge")
    yield from nodes(walk, places)


def hamiltonian(stages: Stages) -> Iterator[Shape]:
    """One small matrix and one path per subset."""
    yield from heading("(c) Hamiltonian attention", "a path inside each subset")
    subsets = stages.subsets
    across = math.ceil(math.sqrt(len(subsets)))
    cell = SIDE / (across * (stages.size + 1.2) - 0.4)
    pitch = cell * (stages.size + 1.2)
    step, rise = SIDE / max(map(len, subsets)), SIDE / len(subsets)
    radius = min(9.5, 0.32 * step, 0.4 * rise)
    for number, subset in enumerate(subsets):
        left, top = pitch * (number % across), pitch * (number // across)
        fill = colour(stages, number)
        pattern = [[[fill] if key in keys else [] for key in range(len(subset))] for keys in path(len(subset))]
        yield from (moved(shape, left, top) for shape in labels(subset, cell))
        yield from (moved(shape, left, top) for shape in matrix(pattern, cell))
        row = HEAD + rise * (number + 0.5)
        places = [(SIDE + APART + step * (place + 0.5), row) for place in range(len(subset))]
        for begin, end in pairwise(places):
            yield from arrow(begin, end, radius, fill, head=min(8, radius))
        yield from nodes(subset, places, radius)


def whole_cycle(stages: Stages) -> Iterator[Shape]:
    text = f"the paths join to a cycle: 2 x {stages.n} = {2 * stages.n} entries"
    yield from cycle_panel(stages, "(d) Cycle attention", text, stages.walk)


def swap_points(stages: Stages) -> Iterator[Shape]:
    changed = [before for before, after in zip(stages.walk, stages.swapped, strict=True) if before != after]
    text = "points " + " and ".join(str(point + 1) for point in changed) + " change places"
    yield from cycle_panel(stages, "(e) Swap points", text, stages.swapped, changed)


def sampled(stages: Stages) -> Iterator[Shape]:
    text = "all points in their own order: a random cycle"
    yield from cycle_panel(stages, "(f) Sampled attention", text, list(range(stages.n)))


def cycle_panel(
    stages: Stages, title: str, text: str, points: Sequence[int], marked: Sequence[int] = ()
) -> Iterator[Shape]:
    """The pattern of the cycle with the points in some order; a row has the colour of its point's subset."""
    yield from heading(title, text)
    yield from labels(points, marked=marked)
    fills = [colour(stages, stages.home[point]) for point in points]
    mask, places = stages.mask(points), ring(stages.n)
    yield from matrix([[[fill] if cell else [] for cell in row] for fill, row in zip(fills, mask, strict=True)])
    for row, column in zip(*torch.tensor(mask).nonzero(as_tuple=True), strict=True):
        if row != column:
            yield from arrow(places[int(row)], places[int(column)], radius_of(stages.n), fills[int(row)])
    yield from nodes(points, places, marked=marked)


def colour(stages: Stages, subset: int) -> str:
    """The colour of a subset. Neighbours differ, also the last and the first."""
    count = len(stages.subsets)
    colours = next(k for k in range(len(COLOURS), 1, -1) if count % k != 1 or k == 2)
    return COLOURS[subset % colours]


def heading(title: str, text: str) -> Iterator[Shape]:
    yield Text((-20, 18), title, 17, bold=True)
    yield Text((-20, 38), text, 13.5, SOFT)


def matrix(cells: Sequence[Sequence[Sequence[str]]], cell: float | None = None) -> Iterator[Shape]:
    """Cells with no colour are empty; a cell of two subsets shows both colours."""
    cell = SIDE / len(cells) if cell is None else cell
    gap = min(0.9, 0.08 * cell)
    for row, colours in enumerate(cells):
        for column, fills in enumerate(colours):
            left, top, side = column * cell + gap, HEAD + row * cell + gap, cell - 2 * gap
            yield rectangle(left, top, side, side, fills[0] if fills else FAINT, "read" if fills else "unread")
            if len(fills) > 1:
                corners = (left + side, top), (left + side, top + side), (left, top + side)
                yield Polygon(corners, fills[1], "shared")


def labels(points: Sequence[int], cell: float | None = None, marked: Sequence[int] = ()) -> Iterator[Shape]:
    """The numbers of the points at the rows and columns of a matrix, unless they are too small to read."""
    cell = SIDE / len(points) if cell is None else cell
    size = min(12.0, 0.72 * cell)
    if size < 6:
        return
    for place, point in enumerate(points):
        middle = (place + 0.5) * cell
        bold = point in marked
        yield Text((middle, HEAD - 4), str(point + 1), size, INK if bold else SOFT, "middle", bold)
        yield Text((-4, HEAD + middle + 0.35 * size), str(point + 1), size, INK if bold else SOFT, "end", bold)


def ring(n: int) -> list[Point]:
    """Places of the points of a graph: on a circle, so that no arrow passes through a point."""
    angles = [2 * math.pi * place / n - math.pi / 2 for place in range(n)]
    middle, radius = SIDE / 2, SIDE / 2 - radius_of(n) - 1
    return [
        (SIDE + APART + middle + radius * math.cos(angle), HEAD + middle + radius * math.sin(angle)) for angle in angles
    ]


def radius_of(n: int) -> float:
    """The radius of a point of a graph."""
    return min(11.5, 140 / n)


def nodes(
    points: Sequence[int], places: Sequence[Point], radius: float | None = None, marked: Sequence[int] = ()
) -> Iterator[Shape]:
    radius = radius_of(len(points)) if radius is None else radius
    size = 1.12 * radius
    for point, (x, y) in zip(points, places, strict=True):
        fill, ink = (INK, PAPER) if point in marked else (PAPER, INK)
        yield Circle((x, y), radius, fill)
        if size >= 6:
            yield Text((x, y + 0.36 * size), str(point + 1), size, ink, "middle")


def legend(stages: Stages, left: float, top: float) -> Iterator[Shape]:
    """What n, n_s and l are, and which colour is which subset."""
    text = f"n = {stages.n} points, n_s = {stages.size} points per subset, l = {counted(stages)}. "
    yield Text((left, top + 4), f"{text}Row k is filled where point k attends to the column's point.", 13.5, INK)
    yield Text(
        (left, top + 25),
        "Colours: the subsets. Neighbouring subsets share a point, so its cell in (b) has two colours.",
        13.5,
        SOFT,
    )
