"""Points and normals as bytes: what comes back, in which order, and what is refused."""

import zlib

import numpy as np
import pytest

from sampled_transformer.data import DataError
from sampled_transformer.data.plane_codes import NORMAL_STEPS, POINT_STEPS, decode, encode


def clouds(sets: int, points: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    normals = random.normal(size=(sets, points, 3))
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    places = np.rint(random.uniform(-1, 1, (sets, points, 3)) * 32767).astype(np.int16)
    return places, np.rint(normals * 127).astype(np.int8)


@pytest.mark.parametrize("shape", [(3, 50), (1, 1), (2, 0), (0, 5)])
def test_points_come_back_within_half_a_step_in_the_order_told(shape):
    points, normals = clouds(*shape)
    coded = encode(points, normals)
    places, directions = decode(coded.points, coded.normals)
    assert (places.dtype, directions.dtype) == (np.int16, np.int8)
    assert places.shape == points.shape
    moved = np.take_along_axis(points, coded.order[..., None], 1) / 32767
    np.testing.assert_allclose(places / 32767, moved, atol=0.51 / POINT_STEPS)
    turned = np.take_along_axis(normals, coded.order[..., None], 1) / 127
    np.testing.assert_allclose(directions / 127, turned, atol=0.51 / NORMAL_STEPS + 0.51 / 127)


def test_what_is_rounded_stays_as_it_is():
    """Also the extremes, -1 and 1, and zero normals."""
    steps = np.array([[-512, 512, 0], [512, 512, 512], [-512, -512, -512], [1, -1, 511]])
    points = np.rint(steps[None] / 512 * 32767).astype(np.int16)
    normals = np.array([[[0, 0, 0], [127, 0, 0], [0, -127, 0], [0, 0, 127]]], np.int8)
    coded = encode(points, normals)
    places, directions = decode(coded.points, coded.normals)
    order = coded.order[..., None]
    assert places.tolist() == np.take_along_axis(points, order, 1).tolist()
    assert directions.tolist() == np.take_along_axis(normals, order, 1).tolist()
    again = encode(places, directions)
    assert again.order.tolist() == [[0, 1, 2, 3]]
    np.testing.assert_array_equal(again.points, coded.points)


def test_the_order_of_the_points_does_not_matter():
    points, normals = clouds(1, 40)
    mixed = np.random.default_rng(1).permutation(40)
    one, two = encode(points, normals), encode(points[:, mixed], normals[:, mixed])
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.normals, two.normals)


def test_a_box_takes_less_than_as_a_pack():
    random = np.random.default_rng(0)
    points, side = random.uniform(-0.5, 0.5, (1, 4096, 3)), random.integers(0, 6, 4096)
    points[0, np.arange(4096), side % 3] = np.where(side < 3, 0.5, -0.5)
    normals = np.zeros((1, 4096, 3), np.int8)
    normals[0, np.arange(4096), side % 3] = np.where(side < 3, 127, -127)
    stored = np.rint(np.rint(points * 512) / 512 * 32767).astype(np.int16)
    coded = encode(stored, normals)
    small = len(zlib.compress(coded.points.tobytes() + coded.normals.tobytes()))
    assert small < 0.5 * len(zlib.compress(stored.tobytes() + normals.tobytes()))


def test_arrays_that_are_no_codes():
    coded = encode(*clouds(2, 6))
    for points, normals, message in (
        (coded.points[:4], coded.normals, r"points: expected uint8 of shape \(5, sets, n\), got uint8 \(4, 2, 6\)"),
        (coded.points.astype(int), coded.normals, "points: expected uint8"),
        (coded.points, coded.normals[:, :1], r"normals: expected uint8 of shape \(3, 2, 6\), got uint8 \(3, 1, 6\)"),
        (coded.points, coded.normals.astype(np.int8), "normals: expected uint8"),
        (np.full_like(coded.points, 255), coded.normals, "points: expected steps from 0 to 1024, got "),
        (coded.points, np.full_like(coded.normals, 255), "normals: expected steps from 0 to 64, got 255"),
    ):
        with pytest.raises(DataError, match=message):
            decode(points, normals)
