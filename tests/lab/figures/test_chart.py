"""Charts put values where logarithmic axes have them, and names where none overlaps."""

from __future__ import annotations

import pytest

from sampled_transformer_lab.figures.chart import Curve, Panel, apart, mark, ticks
from sampled_transformer_lab.figures.shapes import Line, Text


def panel() -> Panel:
    one = Curve("one", 0, [(1, 1.0), (10, 10.0), (100, 100.0)])
    two = Curve("two", 1, [(1, 100.0), (10, 95.0)])
    return Panel("title", "points", "seconds", [one, two], 200, 100, bottom=1.0, top=100.0)


def test_powers_are_straight_lines() -> None:
    curves = [shape for shape in panel().shapes() if isinstance(shape, Line) and shape.kind == "curve"]
    assert len(curves) == 2
    expected = ((0, 100), (100, 50), (200, 0))
    for place, wanted in zip(curves[0].places, expected, strict=True):
        assert place == pytest.approx(wanted)


def test_every_curve_is_named_and_names_do_not_overlap() -> None:
    texts = {shape.words: shape.place[1] for shape in panel().shapes() if isinstance(shape, Text)}
    assert {"title", "points", "seconds", "one", "two"} <= set(texts)
    assert abs(texts["one"] - texts["two"]) >= 16


def test_apart() -> None:
    assert apart([0, 50], 16, 100) == [0, 50]
    assert apart([10, 12, 14], 16, 100) == [10, 26, 42]
    assert apart([90, 95, 99], 16, 100) == [68, 84, 100]


def test_ticks_are_round_and_inside() -> None:
    assert [value for value, _ in ticks(0.9, 60)] == pytest.approx([1, 2, 5, 10, 20, 50])
    assert [value for value, strong in ticks(0.01, 100) if strong] == pytest.approx([0.01, 0.1, 1, 10, 100])


def test_neighbouring_curves_differ_in_colour_and_mark() -> None:
    colours = {Curve("", number, []).colour for number in range(8)}
    assert len(colours) == 8
    forms = {
        (type(shape), len(getattr(shape, "corners", ())), repr(getattr(shape, "corners", None)))
        for shape in (mark((0, 0), number, "red") for number in range(4))
    }
    assert len(forms) == 4
