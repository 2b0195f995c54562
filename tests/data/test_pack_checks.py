"""The headers of per-point arrays, and the values of the fields that go with them; test_pack.py has the others."""

import numpy as np
import pytest

from sampled_transformer.data import DataError, read_pack
from sampled_transformer.data.formats.npz import Header, write_arrays
from sampled_transformer.data.pack_checks import check_headers

NAMES = np.array(["a", "b"])
EQUAL = {"points": np.zeros((2, 4, 3), np.int16)}
RAGGED = {"points": np.zeros((6, 3), np.int16), "ptr": np.array([0, 2, 6])}
LABELLED = EQUAL | {"point_labels": np.zeros((2, 4), np.uint8), "point_classes": NAMES}


def headers(arrays: dict[str, np.ndarray]) -> dict[str, Header]:
    return {name: Header(array.dtype, array.shape, False, 0) for name, array in arrays.items()}


@pytest.mark.parametrize("shape", [(), (1,), (3,)])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.uint8, np.int64, np.bool_])
def test_features_of_all_kinds(shape, kind):
    check_headers(headers(EQUAL | {"feature_colour": np.zeros((2, 4, *shape), kind)}))
    check_headers(headers(RAGGED | {"feature_colour": np.zeros((6, *shape), kind)}))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            EQUAL | {"point_labels": np.zeros((2, 4), int)},
            "point_classes: expected the names of the classes",
        ),
        (LABELLED | {"point_labels": np.zeros((2, 3), int)}, r"point_labels: expected integers of shape \(2, 4\)"),
        (LABELLED | {"point_labels": np.zeros(2, int)}, r"point_labels: expected integers of shape \(2, 4\)"),
        (LABELLED | {"point_labels": np.zeros((2, 4))}, r"point_labels: expected integers .*, got float64"),
        (LABELLED | {"point_labels": np.zeros((2, 4), bool)}, r"point_labels: expected integers .*, got bool"),
        (LABELLED | {"point_labels": np.full((2, 4), 2)}, "point_labels: expected 0 to 1, or -1 .*, got 2"),
        (LABELLED | {"point_labels": np.full((2, 4), -2)}, "point_labels: expected 0 to 1, or -1 .*, got -2"),
        (LABELLED | {"point_classes": np.array(["a", "a"])}, "point_classes: expected different names, got 'a' twice"),
        (LABELLED | {"point_classes": np.array([1, 2])}, "point_classes: expected text"),
        (LABELLED | {"point_classes": np.arange(40_000).astype(str)}, "point_classes: expected at most 32767 names"),
        (
            RAGGED | {"point_labels": np.zeros(5, int), "point_classes": NAMES},
            r"integers of shape \(6,\), got int64",
        ),
        (
            EQUAL | {"feature_a": np.zeros((2, 3))},
            r"feature_a: expected numbers of shape \(2, 4\) or \(2, 4, c",
        ),
        (EQUAL | {"feature_a": np.zeros(2)}, "feature_a: expected numbers of shape"),
        (EQUAL | {"feature_a": np.zeros((2, 4, 0))}, "feature_a: expected numbers of shape"),
        (EQUAL | {"feature_a": np.zeros((2, 4, 3, 1))}, "feature_a: expected numbers of shape"),
        (EQUAL | {"feature_a": np.full((2, 4), "x")}, "feature_a: expected numbers of shape .*, got <U1"),
        (EQUAL | {"feature_a": np.full((2, 4), np.nan)}, "feature_a: expected finite numbers"),
        (RAGGED | {"feature_a": np.zeros((5, 3))}, r"feature_a: expected numbers of shape \(6,\) or \(6, columns\)"),
        (EQUAL | {"centre": np.zeros((2, 2))}, r"centre: expected numbers of shape \(2, 3\)"),
        (EQUAL | {"centre": np.full((2, 3), np.inf)}, "centre: expected finite numbers, got NaN or infinity"),
        (EQUAL | {"scale": np.zeros(3)}, r"scale: expected numbers of shape \(2,\)"),
        (EQUAL | {"scale": np.array([1.0, np.nan])}, "scale: expected finite numbers, got NaN or infinity"),
        (EQUAL | {"scale": np.array([1.0, -2])}, "scale: expected at least 0, got -2"),
    ],
)
def test_bad_file_is_one_line_with_its_name(tmp_path, arrays, message):
    write_arrays(tmp_path / "bad.npz", arrays)
    with pytest.raises(DataError, match=message) as error:
        read_pack(tmp_path / "bad.npz")
    assert str(error.value).startswith(str(tmp_path / "bad.npz") + ": ")
    assert "\n" not in str(error.value)


def test_classes_without_labels_are_fine(tmp_path):
    write_arrays(tmp_path / "a.npz", EQUAL | {"point_classes": NAMES})
    pack = read_pack(tmp_path / "a.npz")
    assert pack.point_classes == ("a", "b")
    assert not pack.has_point_labels
