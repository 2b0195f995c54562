"""Shapes keep their form when they move, and arrows go from rim to rim."""

from __future__ import annotations

import math

import pytest

from sampled_transformer_lab.figures.shapes import Circle, Drawing, Line, Polygon, Text, arrow, moved, rectangle


def test_rectangles_have_four_corners() -> None:
    assert rectangle(1, 2, 3, 4, "#000000").corners == ((1, 2), (4, 2), (4, 6), (1, 6))


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Polygon(((0, 0), (1, 0), (0, 1)), "red", "kind"), Polygon(((5, 7), (6, 7), (5, 8)), "red", "kind")),
        (Line(((0, 0), (1, 1)), "red", 3, True, "kind"), Line(((5, 7), (6, 8)), "red", 3, True, "kind")),
        (Circle((1, 1), 4, "red", "blue", 2), Circle((6, 8), 4, "red", "blue", 2)),
        (Text((1, 1), "a", 9, "red", "end", True), Text((6, 8), "a", 9, "red", "end", True)),
    ],
)
def test_moved(shape, expected) -> None:
    assert moved(shape, 5, 7) == expected


def test_an_arrow_begins_and_ends_at_the_rims() -> None:
    line, head = arrow((0, 0), (30, 40), 10, "#000000", head=5)
    assert isinstance(line, Line)
    assert isinstance(head, Polygon)
    assert line.places[0] == pytest.approx((6, 8))
    assert head.corners[0] == pytest.approx((24, 32))
    assert math.dist(line.places[1], head.corners[0]) == pytest.approx(5)
    assert list(arrow((0, 0), (10, 0), 10, "#000000")) == []  # the circles touch


def test_a_drawing_collects_shapes() -> None:
    drawing = Drawing(10, 10, "title")
    drawing.add(Circle((place, 0), 1, "red") for place in range(3))
    assert len(drawing.shapes) == 3
