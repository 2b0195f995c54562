"""Line charts with logarithmic axes: one panel as shapes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .shapes import COLOURS, FAINT, INK, SOFT, Circle, Line, Point, Polygon, Shape, Text, rectangle

GREY = "#9aa5b1"
LINE_HEIGHT = 16.0  # of the names at the ends of the curves


@dataclass(frozen=True)
class Curve:
    """One curve; its number gives it the same colour and mark in all panels of a figure."""

    name: str
    number: int
    values: Sequence[Point]
    dashed: bool = False

    @property
    def colour(self) -> str:
        return (*COLOURS, INK, GREY)[self.number % (len(COLOURS) + 2)]


@dataclass(frozen=True)
class Panel:
    """A panel of a chart, with its upper left corner at the origin.

    Args:
        title, across, up: what it shows, and what its axes are.
        curves: the curves. Their names stand at their right ends.
        width, height: size of the area inside the axes.
        bottom, top: range of the values (default: that of the curves).
    """

    title: str
    across: str
    up: str
    curves: Sequence[Curve]
    width: float
    height: float
    bottom: float | None = None
    top: float | None = None

    def x(self, value: float) -> float:
        places = [math.log(x) for curve in self.curves for x, _ in curve.values]
        return self.width * (math.log(value) - min(places)) / ((max(places) - min(places)) or 1)

    def range(self) -> tuple[float, float]:
        values = [y for curve in self.curves for _, y in curve.values]
        return self.bottom or min(values) / 1.3, self.top or max(values) * 1.3

    def y(self, value: float) -> float:
        low, high = map(math.log, self.range())
        return self.height * (high - math.log(value)) / (high - low)

    def shapes(self) -> Iterator[Shape]:
        yield Text((0, -34), self.title, 16, bold=True)
        yield Text((0, -12), self.up, 13, SOFT)
        yield from self.axes()
        for curve in self.curves:
            places = tuple((self.x(x), self.y(y)) for x, y in curve.values)
            yield Line(places, curve.colour, 2.2, curve.dashed, kind="curve")
            if not curve.dashed:
                for place in places:
                    yield mark(place, curve.number, curve.colour)
        yield from self.names()

    def axes(self) -> Iterator[Shape]:
        low, high = self.range()
        for value, strong in ticks(low, high):
            y = self.y(value)
            yield Line(((0, y), (self.width, y)), FAINT, 1.2 if strong else 0.6)
            if strong:
                yield Text((-8, y + 4.5), number(value), 13, SOFT, "end")
        sizes = {x for curve in self.curves for x, _ in curve.values}
        named = list[tuple[float, str]]()
        for value in sorted(sizes, key=lambda size: (not math.log2(size).is_integer(), size)):  # powers of two first
            x, text = self.x(value), number(value)
            yield Line(((x, self.height), (x, self.height + 5)), SOFT, 1)
            if all(abs(x - other) > 4.2 * (len(text) + len(name)) for other, name in named):
                yield Text((x, self.height + 20), text, 13, SOFT, "middle")
                named.append((x, text))
        yield Line(((0, 0), (0, self.height), (self.width, self.height)), SOFT, 1.2)
        yield Text((self.width / 2, self.height + 42), self.across, 13, SOFT, "middle")

    def names(self) -> Iterator[Shape]:
        """The names of the curves beside their last values, moved apart where they would overlap."""
        ends = sorted((self.y(curve.values[-1][1]), curve.number, curve) for curve in self.curves)
        heights = apart([height for height, _, _ in ends], LINE_HEIGHT, self.height)
        for place, (height, _, curve) in zip(heights, ends, strict=True):
            end = self.x(curve.values[-1][0])
            early = end < self.width - 1
            if early or abs(place - height) > 2:
                yield Line(((end + 6, height), (self.width + 7, place)), curve.colour, 0.7, dashed=early)
            yield Text((self.width + 20, place + 4.5), curve.name, 13, INK)
            if not curve.dashed:
                yield mark((self.width + 13, place), curve.number, curve.colour)


def apart(heights: Sequence[float], least: float, most: float) -> list[float]:
    """Heights in rising order, moved so that neighbours are at least so far apart and none is beyond `most`."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + least) if placed else height)
    limit = most
    for place in range(len(placed) - 1, -1, -1):
        placed[place] = min(placed[place], limit)
        limit = placed[place] - least
    return placed


def ticks(low: float, high: float) -> Iterator[tuple[float, bool]]:
    """1, 2, 5, 10, ... in a range; the flag says which ones get a number."""
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for digit in (1, 2, 5):
            value = digit * 10.0**power
            if low <= value <= high:
                yield value, digit == 1 or high / low < 300


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def mark(place: Point, kind: int, colour: str) -> Shape:
    """A mark on a curve; its form tells curves apart without their colours."""
    x, y = place
    match kind % 4:
        case 0:
            return Circle(place, 4, colour, colour, 0.5)
        case 1:
            return rectangle(x - 3.8, y - 3.8, 7.6, 7.6, colour, "mark")
        case 2:
            return Polygon(((x, y - 5), (x + 4.8, y + 3.8), (x - 4.8, y + 3.8)), colour, "mark")
        case _:
            return Polygon(((x, y - 5.2), (x + 5.2, y), (x, y + 5.2), (x - 5.2, y)), colour, "mark")
