from __future__ import annotations

import numpy as np
import pytest

from sampled_transformer.report.clouds import DECISIVE, DIAGONAL, MOST_POINTS, Turnable, drawing, side_by_side


def test_a_drawing_shows_what_faces_the_viewer() -> None:
    points = np.array([[0, 0, 0.5], [0, 0, -0.5], [0.3, 0.2, 0.5]])
    up = np.array([[0, 0, 1.0], [0, 0, -1.0], [0, 0, 1.0]])
    assert drawing(points).count("<circle") == 3
    assert drawing(points, up).count("<circle") == 2
    assert drawing(np.zeros((4, 3))).count('cx="80.0" cy="80.0"') == 4


def test_the_fewest_points_that_decided_half_are_marked() -> None:
    points = np.random.default_rng(0).normal(size=(6, 3))
    shares = np.array([0.3, 0.25, 0.15, 0.1, 0.1, 0.1])
    assert drawing(points, None, shares).count(DECISIVE) == 2
    assert drawing(points, None, np.array([0, 0, 1.0, 0, 0, 0])).count(DECISIVE) == 1


def test_a_long_cloud_stays_in_its_half() -> None:
    for stretch in ((1, 1, 1), (9, 1, 1), (0, 0, 5), (0, 0, 0)):
        cloud = np.random.default_rng(0).uniform(-1, 1, (50, 3)) * stretch
        box = side_by_side([Turnable("", [("", cloud, "#111")])]).layout.scene.aspectratio
        assert np.linalg.norm([box.x, box.y, box.z]) == pytest.approx(DIAGONAL)


def test_clouds_stand_side_by_side_and_are_not_too_large() -> None:
    many = np.random.default_rng(0).normal(size=(5000, 3))
    page = side_by_side([Turnable("<one>\ntwice", [("a", many, "#111"), ("b", many[:7], "#222")]), Turnable("", [])])
    assert [trace.name for trace in page.data] == ["a", "b"]
    assert 500 < len(page.data[0].x) <= MOST_POINTS
    assert len(page.data[1].x) == 7
    assert page.layout.scene.domain.x[1] <= page.layout.scene2.domain.x[0]
    assert page.layout.annotations[0].text == "&lt;one&gt;<br>twice"
