from __future__ import annotations

import time

import numpy as np
import pytest
from helpers.visits import visit

from sampled_transformer.view import drawing
from sampled_transformer.view.drawing import point_size
from sampled_transformer.view.visits import Visits


def test_a_large_cloud_is_coarse_while_the_camera_moves(visits: Visits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "PARTS", (50, 100, 200))
    monkeypatch.setattr(drawing, "LARGE", 50)
    points = np.random.default_rng(0).normal(size=(350, 3)).astype(np.float32)
    with visit(visits) as (visitor, _):
        own = visitor.drawing
        own.budget.moving, own.budget.resting = 50, 200
        own.points = own.budget.resting
        own.cloud("large", points, np.zeros((350, 3), np.uint8), 0.01)
        parts = own.handles["large"]
        assert [len(one.points) for one in parts] == [50, 50, 100, 150]
        together = np.vstack([one.points for one in parts])
        assert np.allclose(np.sort(together, 0), np.sort(points, 0))

        def drawn() -> list[bool]:
            return [bool(one.visible) for one in parts]

        assert drawn() == [True, True, True, False]
        assert "200 of 350 points are drawn" in visitor.missing.content
        own._moved()
        assert drawn() == [True, False, False, False]
        first = parts[0]
        assert (first.point_size, first.point_shape) == (pytest.approx(0.01 * 7**0.5), "square")  # 350 / 50
        end = time.monotonic() + 20
        while not parts[1].visible and time.monotonic() < end:
            time.sleep(0.05)
        assert drawn() == [True, True, True, False]  # at rest
        assert (first.point_size, first.point_shape) == (pytest.approx(0.01 * (350 / 200) ** 0.5), "circle")
        own.budget.moving, own.budget.resting = 130, 400
        own._draw(own.budget.moving, turning=True)
        assert drawn() == [True, True, False, False]
        own._rested()
        assert drawn() == [True, True, True, True]
        own.budget.moving = 350
        own._moved()
        assert (drawn(), first.point_shape) == ([True] * 4, "circle")  # nothing is missing
        assert visitor.missing.content == ""
        assert first.point_size == pytest.approx(0.01)
        own.show("large", False)
        own._moved()
        own._rested()
        assert drawn() == [False] * 4


def test_points_do_not_grow_without_bound(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        own = visitor.drawing
        own.cloud("large", np.zeros((100_000, 3)), np.zeros((100_000, 3), np.uint8), 0.01)
        own._draw(100, turning=True)
        assert own.handles["large"][0].point_size == pytest.approx(0.01 * drawing.LARGEST_POINT)
        visible = [bool(one.visible) for one in own.handles["large"]]
        assert visible[:2] == [True, False]  # one part is always there


def test_a_small_cloud_has_one_level(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        for count in (0, 1, drawing.LARGE):
            visitor.drawing.cloud("small", np.zeros((count, 3)), np.zeros((count, 3), np.uint8), 0.01)
            visitor.drawing._moved()
            assert [(len(one.points), bool(one.visible)) for one in visitor.drawing.handles["small"]] == [(count, True)]


def test_what_is_drawn_again_replaces_what_was_there(visits: Visits) -> None:
    with visit(visits) as (visitor, _):
        own = visitor.drawing
        begin, ends = np.zeros(3), np.eye(3)
        own.lines("lines", begin, ends, np.zeros((3, 3)), 2)
        [first] = own.handles["lines"]
        assert first.points.shape == (3, 2, 3)
        own.lines("lines", begin, ends[:0], np.zeros((0, 3)), 2)
        assert "lines" not in own.handles
        own.labels("texts", ["a", "b"], ends[:2])
        own.spheres("spheres", ends, [(1, 2, 3)] * 3, 0.1)
        own.path("path", ends, np.zeros((2, 3)), 1)
        own.mesh("mesh", np.eye(3), np.array([[0, 1, 2]]), (9, 9, 9))
        assert [len(own.handles[name]) for name in ("texts", "spheres", "path", "mesh")] == [2, 3, 1, 1]
        own.remove("spheres")
        own.remove("spheres")
        assert "spheres" not in own.handles


def test_more_points_are_smaller() -> None:
    assert point_size(1) > point_size(1000) > point_size(100_000) > 0
    assert point_size(0) > 0
