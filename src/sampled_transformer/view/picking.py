"""Which point somebody clicked."""

from __future__ import annotations

import numpy as np

TOLERANCE = 0.04  # tangent of the angle between the ray and a point that still counts as hit
SAME = 0.008  # points this close to the ray, in the same unit, are one spot: the nearest to the eye is meant


def clicked_point(points: np.ndarray, origin: np.ndarray, direction: np.ndarray) -> int | None:
    """The number of the point (n, 3) that a ray from the eye hits, or None if it misses all of them.

    Of the points that are nearly as close to the ray as the closest, it is the one nearest to the eye: the one that
    hides the others.
    """
    direction = direction / np.linalg.norm(direction)
    toward = points - origin
    depth = toward @ direction
    ahead = depth > 1e-6
    if not ahead.any():
        return None
    aside = np.linalg.norm(toward - depth[:, None] * direction, axis=1)
    angle = np.where(ahead, aside / np.where(ahead, depth, 1), np.inf)
    if angle.min() > TOLERANCE:
        return None
    spot = angle <= angle.min() + SAME
    return int(np.where(spot, depth, np.inf).argmin())
