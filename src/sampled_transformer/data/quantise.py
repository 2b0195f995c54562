"""Store coordinates and normals as small integers: int16 / 32767 for points, int8 / 127 for normals."""

from __future__ import annotations

import numpy as np

from .errors import DataError

POINT_SCALE = 32767
NORMAL_SCALE = 127
LARGEST = 1e150  # the square of anything larger overflows


def check_coordinates(values: np.ndarray, name: str) -> np.ndarray:
    """Return `values` as float64 (n, 3), or raise a DataError unless n >= 1 and every value is finite."""
    values = np.asarray(values)
    if values.ndim != 2 or values.shape[1] != 3 or values.dtype.kind not in "fiu":
        raise DataError(f"{name}: expected numbers of shape (n, 3), got {values.dtype} {values.shape}")
    if len(values) == 0:
        raise DataError(f"{name}: expected at least 1 point, got none")
    values = values.astype(np.float64)
    bad = ~(np.abs(values) < LARGEST).all(1)
    if bad.any():
        finite = bool(np.isfinite(values[bad]).all())
        raise wrong_numbers(name, finite, int(bad.sum()), len(values), int(bad.argmax()))
    return values


def wrong_numbers(name: str, finite: bool, wrong: int, count: int, first: int) -> DataError:
    """The error about rows with numbers that nothing can be computed from."""
    expected, got = ("numbers below 1e150", "larger ones") if finite else ("finite numbers", "NaN or infinity")
    return DataError(f"{name}: expected {expected}, got {got} in {wrong} of {count} rows (first: row {first})")


def to_unit_sphere(points: np.ndarray) -> np.ndarray:
    """Centre points (n, 3) on their mean and divide by the largest norm. If all points coincide, return zeros."""
    return _fit(points)[0]


def _fit(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The points in the unit sphere, and what that takes away: points = these * scale + centre, up to rounding."""
    # This first division keeps the squares of very large and very small coordinates within the range of float64.
    extent = float(np.abs(points).max())
    points = points / extent if extent > 0 else points
    centre = points.mean(0)
    points = points - centre
    x, y, z = points.T
    radius = float(np.sqrt((x * x + y * y + z * z).max()))  # numpy sums rows of three one at a time
    # The mean of equal numbers carries a rounding error; a radius that small means that all points coincide.
    if radius <= 1e-12:
        return np.zeros_like(points), centre * extent, 0.0
    return points / radius, centre * extent, radius * extent


def quantise_points(points: np.ndarray, normalise: bool = True, name: str = "points") -> np.ndarray:
    """Quantise points (n, 3) to int16. Without `normalise` they must already lie in [-1, 1]."""
    return quantise_with_size(points, normalise, name)[0]


def quantise_with_size(
    points: np.ndarray, normalise: bool = True, name: str = "points"
) -> tuple[np.ndarray, np.ndarray, float]:
    """As `quantise_points`, with the centre (3,) and the scale that `normalise` takes away, else zeros and 1."""
    points = check_coordinates(points, name)
    centre, scale = np.zeros(3), 1.0
    if normalise:
        points, centre, scale = _fit(points)
    elif np.abs(points).max() > 1 + 1e-6:  # tolerate float32 rounding
        largest = np.abs(points).max()
        raise DataError(f"{name}: expected coordinates in [-1, 1] without normalise, got up to {largest:.6g}")
    quantised: np.ndarray = np.rint(points.clip(-1, 1) * POINT_SCALE).astype(np.int16)
    return quantised, centre, scale


def quantise_normals(normals: np.ndarray, name: str = "normals") -> np.ndarray:
    """Scale normals (n, 3) to unit length and quantise them to int8. A zero normal (unknown direction) stays zero."""
    quantised: np.ndarray = np.rint(unit_vectors(check_coordinates(normals, name)) * NORMAL_SCALE).astype(np.int8)
    return quantised


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Divide each row of (n, 3) by its norm; zero rows stay zero."""
    length = np.sqrt(np.square(vectors).sum(1, keepdims=True))
    scaled: np.ndarray = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return scaled
