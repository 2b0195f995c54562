"""Labels and features of single points: types, points to ignore, names, and packs that have none where some must be."""

import numpy as np
import pytest

from sampled_transformer.data import DataError, Pack
from sampled_transformer.data.per_point import check_features, expect_point_labels, settle_labels, stored_labels, width


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        (np.array([0, 2, -1], np.int8), 3, [0, 2, -1]),
        (np.array([0, 2, -1], np.int64), 3, [0, 2, -1]),
        (np.array([0, 2, 255], np.uint8), 3, [0, 2, -1]),
        (np.array([0, 254, 255], np.uint8), 255, [0, 254, -1]),
        (np.array([0, 254, 255], np.uint8), 256, [0, 254, 255]),  # here 255 is a class
        (np.array([0, 65535], np.uint16), 300, [0, -1]),
        (np.array([0, 2**64 - 1], np.uint64), 3, [0, -1]),
        (np.array([], np.int32), 3, []),
        (np.array([[1, -1]], np.int16), 3, [[1, -1]]),
    ],
)
def test_every_integer_type_becomes_int16_with_minus_one(labels, classes, expected):
    before = labels.copy()
    settled = settle_labels(labels, classes)
    assert settled.dtype == np.int16
    assert settled.tolist() == expected
    np.testing.assert_array_equal(labels, before)


@pytest.mark.parametrize(
    ("labels", "got"),
    [
        (np.array([0, 3], np.int8), "3"),
        (np.array([0, -2], np.int16), "-2"),
        (np.array([0, 254], np.uint8), "254"),
        (np.array([0, 255], np.uint16), "255"),  # means ignore only where it is the largest number of the type
        (np.array([0, 2**40 + 1], np.int64), "1099511627777"),
    ],
)
def test_labels_out_of_range_are_named(labels, got):
    with pytest.raises(DataError, match=rf"^point_labels: expected 0 to 2, or -1 for points to ignore, got {got}$"):
        settle_labels(labels, 3)


@pytest.mark.parametrize(("classes", "kind"), [(2, np.int8), (128, np.int8), (129, np.int16)])
def test_labels_are_stored_in_the_smallest_signed_type(classes, kind):
    labels = np.array([-1, 0, classes - 1], np.int16)
    stored = stored_labels(labels, classes)
    assert stored.dtype == kind
    assert settle_labels(stored, classes).tolist() == labels.tolist()


@pytest.mark.parametrize("name", ["", "a/b", "a\\b", "a\nb", "a\0b"])
def test_names_that_cannot_be_stored(name):
    with pytest.raises(DataError, match="features: expected printable names without slashes, got ") as error:
        check_features({name: np.zeros(3)})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_features_are_finite_in_float32(value):
    check_features({"speed": np.array([1.0, -1e38]), "returns": np.array([255], np.uint8)})
    with pytest.raises(DataError, match="feature_speed: expected finite numbers of float32, got NaN or infinity"):
        check_features({"speed": np.array([1.0, value])})


def test_width():
    assert width(np.zeros((2, 4)), np.zeros((2, 4, 3))) == 1
    assert width(np.zeros((8, 1)), np.zeros((8, 3))) == 1
    assert width(np.zeros((8, 5)), np.zeros((8, 3))) == 5


def test_labels_that_must_be_there():
    points = np.random.default_rng(0).normal(size=(2, 4, 3))
    with pytest.raises(DataError, match=r"^mine: expected point_labels, the class of every point, got none$"):
        expect_point_labels(Pack.from_arrays(points, point_classes=["a"]), "mine")
    ignored = Pack.from_arrays(points, point_labels=np.full((2, 4), -1), point_classes=["a"])  # allowed as such
    with pytest.raises(DataError, match=r"^mine: point_labels: expected at least 1 point .*, got 8 points to ignore$"):
        expect_point_labels(ignored, "mine")
    expect_point_labels(Pack.from_arrays(points, point_labels=np.zeros((2, 4), int), point_classes=["a"]), "mine")
