"""Estimated normals on surfaces whose normals are known."""

import numpy as np
import pytest

from sampled_transformer.data.normals import LARGEST_SEARCH, estimate_normals


def sphere(count: int) -> np.ndarray:
    points = np.random.default_rng(0).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


@pytest.mark.parametrize(("count", "scale"), [(4000, 1), (LARGEST_SEARCH + 1000, 1), (4000, 1e140), (4000, 1e-140)])
def test_sphere_points_outwards(count, scale):
    directions = sphere(count)
    points = (directions + np.array([5, 0, 0])) * scale
    normals = estimate_normals(points[:2000], points, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1)
    assert (normals * directions[:2000]).sum(1).min() > 0.95


def test_plane():
    points = np.random.default_rng(0).uniform(size=(500, 3)) * [1, 1, 0]
    normals = estimate_normals(points, points, np.random.default_rng(0))
    np.testing.assert_allclose(np.abs(normals), [[0, 0, 1]] * 500, atol=1e-6)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_few_points(count):
    points = sphere(count)
    normals = estimate_normals(points, points, np.random.default_rng(0))
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1)
