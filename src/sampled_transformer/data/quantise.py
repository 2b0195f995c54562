"""Coordinates and normals as small integers: int16 / 32767 for points, int8 / 127 for normals."""

from __future__ import annotations

import numpy as np

from .errors import DataError

POINT_SCALE = 32767
NORMAL_SCALE = 127


def check_coordinates(values: np.ndarray, name: str) -> np.ndarray:
    """`values` as float64 (n, 3), n >= 1 and all finite; otherwise a DataError that names them."""
    values = np.asarray(values)
    if values.ndim != 2 or values.shape[1] != 3 or values.dtype.kind not in "fiu":
        raise DataError(f"{name}: expected numbers of shape (n, 3), got {values.dtype} {values.shape}")
    if len(values) == 0:
        raise DataError(f"{name}: no points")
    values = values.astype(np.float64)
    bad = ~(np.abs(values) < 1e150).all(1)  # the square of anything larger is infinite
    if bad.any():
        raise DataError(f"{name}: {bad.sum()} of {len(values)} are NaN or infinite (first: row {bad.argmax()})")
    return values


def to_unit_sphere(points: np.ndarray) -> np.ndarray:
    """Centre (n, 3) points on their mean and divide by their largest norm; points that all coincide go to 0."""
    # The first division keeps the squares of very large and very small coordinates inside the range of floats.
    extent = np.abs(points).max()
    points = points / extent if extent > 0 else points
    points = points - points.mean(0)
    radius = np.sqrt(np.square(points).sum(1).max())
    # A mean of equal numbers is off by rounding: a radius of that size is no extent.
    return points / radius if radius > 1e-12 else np.zeros_like(points)


def quantise_points(points: np.ndarray, normalise: bool = True, name: str = "points") -> np.ndarray:
    """Points (n, 3) as int16; without `normalise` they must lie in [-1, 1] already."""
    points = check_coordinates(points, name)
    if normalise:
        points = to_unit_sphere(points)
    elif np.abs(points).max() > 1 + 1e-6:  # room for the last digit of float32
        raise DataError(f"{name}: coordinates reach {np.abs(points).max():.6g}, expected [-1, 1] without normalise")
    return np.rint(points.clip(-1, 1) * POINT_SCALE).astype(np.int16)


def quantise_normals(normals: np.ndarray, name: str = "normals") -> np.ndarray:
    """Normals (n, 3) as int8, each made a unit vector first; a zero normal (direction unknown) stays zero."""
    normals = check_coordinates(normals, name)
    length = np.sqrt(np.square(normals).sum(1, keepdims=True))
    normals = np.divide(normals, length, out=np.zeros_like(normals), where=length > 0)
    return np.rint(normals * NORMAL_SCALE).astype(np.int8)
