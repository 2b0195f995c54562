"""Where the eye is on a phone."""

from __future__ import annotations

import numpy as np
import pytest

from sampled_transformer.view.camera import ABOVE, FURTHER, LIFT, NEAR, WIDE, above_the_panel


@pytest.mark.parametrize("eye", [NEAR, WIDE, ABOVE], ids=["near", "wide", "above"])
def test_the_middle_of_the_scene_is_above_the_panel(eye: np.ndarray) -> None:
    place = np.array([0.3, -0.2, 0.1])
    at, beside = above_the_panel(place, eye, np.radians(75))
    assert np.allclose(beside, FURTHER * eye)
    forward = -beside / np.linalg.norm(beside)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    seen = place - (at + beside)
    depth = seen @ forward
    height = (
        seen @ np.cross(right, forward) / depth / (2 * np.tan(np.radians(75) / 2))
    )  # of the screen, from its middle
    assert depth == pytest.approx(np.linalg.norm(beside))
    assert (height, seen @ right) == (pytest.approx(LIFT), pytest.approx(0, abs=1e-12))
