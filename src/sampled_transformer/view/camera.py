"""Where the eye is. On a wide screen the panel hides the right of the scene; on a phone it hides what is below."""

from __future__ import annotations

import numpy as np

NEAR = np.array([0.9, -1.72, 0.78])  # one shape, from the front right and slightly above; z is up
WIDE = np.array([0.6, -3.5, 1.1])  # two shapes side by side
ABOVE = np.array([0.0, -0.01, 3.2])  # a plane
BESIDE = np.array([-2.2, 0.0, 0.0])  # where the second of two shapes is drawn
ASIDE = np.array([0.25, 0.12, 0.0])  # what the eye looks at beside the panel, where one shape is in the middle
PHONE = 700  # pixels of width below which a screen is one
FURTHER = 1.8  # times as far away on a phone, because it is narrow
LIFT = 0.3  # of its height: so much higher is the scene, above the panel


def above_the_panel(at: np.ndarray, eye: np.ndarray, angle: float) -> tuple[np.ndarray, np.ndarray]:
    """What a phone looks at instead of a place (3,), and from where beside that (3,), with a vertical angle of view."""
    eye = FURTHER * eye
    distance = float(np.linalg.norm(eye))
    upright = np.array([0.0, 0.0, 1.0])
    up = upright - eye * eye[2] / distance**2  # on the screen
    height = 2 * np.tan(angle / 2) * distance
    return at - LIFT * height * up / np.linalg.norm(up), eye
