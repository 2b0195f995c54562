from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from sampled_transformer.theory import run
from sampled_transformer.theory.contextual import Trace
from sampled_transformer.theory.drawing import draw_svg, draw_text, layer_names, spread_table
from sampled_transformer.theory.grid import Setting, all_inputs


@pytest.fixture(scope="module")
def trace() -> Trace:
    setting = Setting(3, 1, 2)
    return run(all_inputs(setting), setting, keep=True)


def test_every_layer_has_a_line(trace: Trace) -> None:
    assert layer_names(trace) == ["start", *(f"shift {k}" for k in range(1, 5)), *(f"all-max {k}" for k in (1, 2, 3))]
    lines = draw_text(trace, 0).splitlines()
    assert len(lines) == len(trace.layers)
    assert lines[0].split("|")[1].index("2") < lines[0].split("|")[1].index("1")  # l_2 < l_1
    assert lines[4].split("|")[1].index("1") < lines[4].split("|")[1].index("2")  # l_1 < l~_2


def test_ids_are_shared_until_the_end_of_the_construction(trace: Trace) -> None:
    rows = spread_table(trace)
    assert [row[0] for row in rows] == layer_names(trace)
    different, shared = [int(row[2]) for row in rows], [int(row[4]) for row in rows]
    assert different[0] == 6
    assert shared[0] == 6  # every id that tokens start with belongs to several inputs
    assert different[-1] == 24
    assert shared[-1] == 0
    for ids, count in zip(trace.layers, different, strict=True):
        assert len(set(ids.reshape(-1))) == count


def test_the_picture_is_well_formed_and_has_a_line_for_each_token(trace: Trace) -> None:
    picture = ElementTree.fromstring(draw_svg(trace, most=5))
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 5 * 3
    for line in lines:
        points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        assert len(points) == len(trace.layers)
        assert all(0 <= x <= 900 and 0 <= y <= 520 for x, y in points)
        assert points[-1][1] < points[0][1]  # ids grow: upwards


def test_ids_beyond_floating_point_can_be_drawn() -> None:
    setting = Setting(6, 3, 3)
    inputs = all_inputs(Setting(2, 1, 2))[:1].repeat(3, axis=2).repeat(3, axis=1)
    trace = run(inputs, setting, keep=True)
    assert trace.ids.max() > 10**50
    assert len(draw_text(trace, 0).splitlines()) == len(trace.layers)
    largest = setting.real(trace.ids.max())
    shown = spread_table(trace)[-1][1]
    assert float(shown) == pytest.approx(float(largest), rel=0.01)
    ElementTree.fromstring(draw_svg(trace))
