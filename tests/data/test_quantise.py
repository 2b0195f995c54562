"""Quantisation: stored values are close to the originals, and invalid values are refused."""

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.quantise import (
    NORMAL_SCALE,
    POINT_SCALE,
    check_coordinates,
    quantise_normals,
    quantise_points,
    quantise_with_size,
    to_unit_sphere,
    unit_vectors,
)

RANDOM = np.random.default_rng(0)


def test_unit_sphere_has_mean_zero_and_radius_one() -> None:
    points = to_unit_sphere(RANDOM.normal(size=(50, 3)) * [1, 10, 100] + 7)
    assert np.allclose(points.mean(0), 0, atol=1e-12)
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(1)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_unit_sphere_of_extreme_coordinates(scale: float) -> None:
    points = RANDOM.normal(size=(20, 3))
    assert np.allclose(to_unit_sphere(points * scale), to_unit_sphere(points))


def test_coinciding_points_go_to_zero() -> None:
    assert not to_unit_sphere(np.full((7, 3), 0.1)).any()


def test_points_are_kept_to_half_a_step() -> None:
    points = RANDOM.uniform(-1, 1, (100, 3))
    stored = quantise_points(points, normalise=False)
    assert stored.dtype == np.int16
    assert np.abs(stored / POINT_SCALE - points).max() <= 0.5 / POINT_SCALE + 1e-12
    assert np.array_equal(quantise_points(points), quantise_points(to_unit_sphere(points), normalise=False))


def test_points_outside_are_refused_but_for_rounding() -> None:
    assert quantise_points(np.array([[1 + 1e-7, 0, -1]]), normalise=False).tolist() == [[POINT_SCALE, 0, -POINT_SCALE]]
    with pytest.raises(DataError, match=r"^cloud: expected coordinates in \[-1, 1\] without normalise, got up to 1\.5"):
        quantise_points(np.array([[1.5, 0, 0]]), normalise=False, name="cloud")


def test_normals_become_unit_vectors_and_zero_stays_zero() -> None:
    stored = quantise_normals(np.array([[0, 0, 9.0], [-0.1, 0, 0], [0, 0, 0]]))
    assert stored.dtype == np.int8
    assert stored.tolist() == [[0, 0, NORMAL_SCALE], [-NORMAL_SCALE, 0, 0], [0, 0, 0]]
    assert np.allclose(unit_vectors(np.array([[3.0, 0, 4.0]])), [[0.6, 0, 0.8]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((4, 2)), r"x: expected numbers of shape \(n, 3\), got float64 \(4, 2\)"),
        (np.array([["a", "b", "c"]]), "x: expected numbers of shape"),
        (np.zeros((0, 3)), "x: expected at least 1 point, got none"),
        (np.array([[0, 0, 0], [0, np.nan, 0]]), r"x: expected finite numbers, got .* in 1 of 2 rows \(first: row 1\)"),
        (np.array([[1e200, 0, 0]]), "x: expected numbers below 1e150, got larger ones in 1 of 1 rows"),
    ],
)
def test_bad_coordinates_are_named(values: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_coordinates(values, "x")


def test_integers_are_coordinates_too() -> None:
    assert check_coordinates(np.array([[1, 2, 3]]), "x").dtype == np.float64


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e140])
def test_centre_and_scale_are_what_the_unit_sphere_lacks(scale: float) -> None:
    points = (np.random.default_rng(0).normal(size=(20, 3)) + 5) * scale
    _, centre, radius = quantise_with_size(points)
    assert np.allclose(to_unit_sphere(points) * radius + centre, points, rtol=1e-9, atol=0)
    assert quantise_with_size(np.full((2, 3), 7.0))[2] == 0
    _, centre, radius = quantise_with_size(points / (10 * scale), normalise=False)
    assert (centre.tolist(), radius) == ([0, 0, 0], 1)
