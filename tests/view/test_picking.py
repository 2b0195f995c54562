from __future__ import annotations

import numpy as np

from sampled_transformer.view.picking import clicked_point

POINTS = np.array([[0, 0, 0], [0, 1, 0], [0, 0.5, 0], [1, 0, 0.0]])
EYE = np.array([0, -4.0, 0])


def test_the_point_on_the_ray_that_hides_the_others_is_meant() -> None:
    assert clicked_point(POINTS, EYE, np.array([0, 1.0, 0])) == 0
    assert clicked_point(POINTS, np.array([0, 9.0, 0]), np.array([0, -3.0, 0])) == 1


def test_a_near_miss_counts_and_a_far_one_does_not() -> None:
    toward = POINTS[3] - EYE
    assert clicked_point(POINTS, EYE, toward + np.array([0, 0, 0.05])) == 3
    assert clicked_point(POINTS, EYE, toward + np.array([0, 0, 0.5])) is None


def test_points_behind_the_eye_are_not_hit() -> None:
    assert clicked_point(POINTS, EYE, np.array([0, -1.0, 0])) is None
