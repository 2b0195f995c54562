"""The few shapes that figures are made of. `svg` and `png` write the same shapes, so both files show the same."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

Point = tuple[float, float]

INK, SOFT, FAINT, PAPER = "#1f2933", "#5b6b7f", "#e8ebef", "#ffffff"
# The colours of Okabe and Ito, which remain distinct for colour-blind readers.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7")


@dataclass(frozen=True)
class Polygon:
    """A filled area. `kind` says what it stands for, so that tests can find it."""

    corners: tuple[Point, ...]
    fill: str
    kind: str = ""


@dataclass(frozen=True)
class Line:
    """A line through some places."""

    places: tuple[Point, ...]
    colour: str
    width: float = 1.5
    dashed: bool = False
    kind: str = ""


@dataclass(frozen=True)
class Circle:
    centre: Point
    radius: float
    fill: str
    edge: str = INK
    width: float = 1.2


@dataclass(frozen=True)
class Text:
    """One line of text; `place` is on its baseline, at its left end, middle or right end."""

    place: Point
    words: str
    size: float = 13
    colour: str = INK
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False


Shape = Polygon | Line | Circle | Text


@dataclass
class Drawing:
    """A figure: its size, its title for those who cannot see it, and its shapes from back to front."""

    width: int
    height: int
    title: str
    shapes: list[Shape] = field(default_factory=list)

    def add(self, shapes: Iterable[Shape]) -> None:
        self.shapes.extend(shapes)


def rectangle(left: float, top: float, width: float, height: float, fill: str, kind: str = "") -> Polygon:
    right, bottom = left + width, top + height
    return Polygon(((left, top), (right, top), (right, bottom), (left, bottom)), fill, kind)


def arrow(begin: Point, end: Point, radius: float, colour: str, width: float = 1.6, head: float = 8) -> Iterator[Shape]:
    """An arrow between two circles of a radius, from rim to rim."""
    length = math.dist(begin, end)
    if length <= 2 * radius:
        return
    along = (end[0] - begin[0]) / length, (end[1] - begin[1]) / length
    first = begin[0] + radius * along[0], begin[1] + radius * along[1]
    tip = end[0] - radius * along[0], end[1] - radius * along[1]
    back = tip[0] - head * along[0], tip[1] - head * along[1]
    side = -0.42 * head * along[1], 0.42 * head * along[0]
    yield Line((first, back), colour, width, kind="edge")
    yield Polygon((tip, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1])), colour)


def moved(shape: Shape, right: float, down: float) -> Shape:
    """A shape somewhere else."""

    def place(point: Point) -> Point:
        return point[0] + right, point[1] + down

    match shape:
        case Polygon(corners, fill, kind):
            return Polygon(tuple(map(place, corners)), fill, kind)
        case Line(places, ink, width, dashed, kind):
            return Line(tuple(map(place, places)), ink, width, dashed, kind)
        case Circle(centre, radius, fill, edge, width):
            return Circle(place(centre), radius, fill, edge, width)
        case Text(begin, words, size, ink, anchor, bold):
            return Text(place(begin), words, size, ink, anchor, bold)
