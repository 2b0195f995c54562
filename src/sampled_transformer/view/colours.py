"""Colours of points: numbers on a scale, and classes. The scale is viridis, which colour-blind people can read."""

from __future__ import annotations

import numpy as np

from ..support.palette import class_colours

VIRIDIS = np.array(
    [
        (68, 1, 84),
        (71, 44, 122),
        (59, 81, 139),
        (44, 113, 142),
        (33, 144, 141),
        (39, 173, 129),
        (92, 200, 99),
        (170, 220, 50),
        (253, 231, 37),
    ],
    np.float64,
)
PLAIN = (98, 122, 150)  # points about which there is nothing to say
FADED = (196, 203, 212)  # points that are out of the question
ASKING = (213, 94, 0)  # the point that was clicked
READ = (0, 114, 178)  # points that it reads


def scaled(values: np.ndarray) -> np.ndarray:
    """Numbers (n,) as colours (n, 3) uint8, from the smallest, dark, to the largest, bright; equal ones are dark."""
    low, high = float(values.min(initial=np.inf)), float(values.max(initial=-np.inf))
    share = (values - low) / (high - low) if high > low else np.zeros(len(values))
    place = share * (len(VIRIDIS) - 1)
    columns = [np.interp(place, np.arange(len(VIRIDIS)), channel) for channel in VIRIDIS.T]
    return np.stack(columns, 1).round().astype(np.uint8).reshape(-1, 3)


def shaded(points: np.ndarray, normals: np.ndarray | None) -> np.ndarray:
    """A plain colour (n, 3) uint8, brighter where points face upwards or, without normals, where they are higher."""
    light = points[:, 2] if normals is None else normals @ np.array([-0.3, -0.4, 0.85])
    share = (light - light.min(initial=0)) / max(float(np.ptp(light)) if len(light) else 0, 1e-9)
    dark, bright = np.array(PLAIN) * 0.55, np.array(PLAIN) * 0.45 + 255 * 0.5
    shades: np.ndarray = (dark + share[:, None] * (bright - dark)).round().astype(np.uint8)
    return shades


def lightened(colours: np.ndarray) -> np.ndarray:
    """Colours (n, 3) uint8 that leave the eye to others."""
    light: np.ndarray = (0.35 * colours + 0.65 * 235).round().astype(np.uint8)
    return light


def by_class(labels: np.ndarray) -> np.ndarray:
    """Numbers of classes (n,) as colours (n, 3) uint8."""
    return class_colours(labels) if len(labels) else np.zeros((0, 3), np.uint8)


def all_the_same(count: int, colour: tuple[int, int, int] = PLAIN) -> np.ndarray:
    """One colour for every point, (count, 3) uint8."""
    return np.tile(np.array(colour, np.uint8), (count, 1))
