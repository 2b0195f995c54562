"""The names of fields decide what is points, normals, colour, labels or a feature."""

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.fields import scaled_colour, scan_of

XYZ = {name: np.arange(4.0) + place for place, name in enumerate("xyz")}


def test_everything_finds_its_place() -> None:
    scan = scan_of(
        {
            "Intensity": np.arange(4, dtype=np.uint16),
            **{name.upper(): values for name, values in XYZ.items()},
            "normal_x": np.zeros(4),
            "normal_y": np.zeros(4),
            "normal_z": np.ones(4),
            "red": np.full(4, 255, np.uint8),
            "green": np.full(4, 51, np.uint8),
            "blue": np.zeros(4, np.uint8),
            "scalar_Label": np.array([3.0, np.nan, 0, 7]),
            "scalar_Planarity": np.array([0.5, np.nan, np.inf, 1]),
            "scalar_": np.ones(4),
            "gps_time": np.full(4, 1.4e9),
            "descriptor": np.ones((4, 2), np.float32),
        }
    )
    np.testing.assert_array_equal(scan.points, np.stack(list(XYZ.values()), 1))
    assert scan.points.dtype == np.float64
    np.testing.assert_array_equal(scan.normals, [[0, 0, 1]] * 4)
    assert scan.labels is not None
    assert scan.labels.dtype == np.int64
    assert scan.labels.tolist() == [3, -1, 0, 7]
    assert scan.label_name == "label"
    assert list(scan.features) == ["colour", "intensity", "planarity", "scalar_", "gps_time", "descriptor"]
    np.testing.assert_allclose(scan.features["colour"], [[1, 0.2, 0]] * 4, rtol=1e-6)
    assert scan.features["intensity"].dtype == np.float32
    assert scan.features["gps_time"].dtype == np.float64
    assert scan.features["gps_time"][0] == 1.4e9
    assert scan.missing() == {"planarity": 2}
    assert len(scan) == 4


def test_taking_some_points_takes_everything_along() -> None:
    fields = {**XYZ, "nx": XYZ["x"], "ny": XYZ["y"], "nz": XYZ["z"], "label": np.arange(4), "a": np.ones((4, 2))}
    part = scan_of(fields, classes={0: "b"}).take(np.array([2, 0]))
    assert part.points[:, 0].tolist() == [2, 0]
    assert part.labels is not None
    assert part.labels.tolist() == [2, 0]
    assert part.normals is not None
    assert part.normals.shape == (2, 3)
    assert part.features["a"].shape == (2, 2)
    assert (part.label_name, part.classes) == ("label", {0: "b"})


@pytest.mark.parametrize(
    ("names", "wanted", "chosen"),
    [
        (["class", "label"], None, "label"),
        (["class", "classification"], None, "classification"),
        (["Class"], None, "class"),
        (["class", "label"], "Class", "class"),
        (["scalar_Truth", "label"], "scalar_truth", "truth"),
        (["colour_of_class"], None, None),
    ],
)
def test_the_field_with_the_labels(names: list[str], wanted: str | None, chosen: str | None) -> None:
    scan = scan_of({**XYZ, **{name: np.arange(4) + 10 * place for place, name in enumerate(names)}}, wanted)
    assert scan.label_name == chosen
    assert len(scan.features) == len(names) - (chosen is not None)
    if chosen is not None:
        place = [name.lower().removeprefix("scalar_") for name in names].index(chosen)
        np.testing.assert_array_equal(scan.labels, np.arange(4) + 10 * place)


def test_a_class_that_is_no_whole_number_is_a_feature() -> None:
    scan = scan_of({**XYZ, "class": np.array([0.5, 1, 2, 3])})
    assert scan.labels is None
    assert list(scan.features) == ["class"]
    with pytest.raises(DataError, match="label: expected one whole number per point in 'class', got other values"):
        scan_of({**XYZ, "class": np.array([0.5, 1, 2, 3])}, "class")


@pytest.mark.parametrize(
    ("values", "divisor"),
    [
        (np.array([[255, 0, 1]], np.uint8), 255),
        (np.array([[1, 0, 1]], np.uint8), 255),
        (np.array([[255, 0, 1]], np.uint16), 255),
        (np.array([[65535, 0, 256]], np.uint16), 65535),
        (np.array([[1.0, 0, 0.5]]), 1),
        (np.array([[255.0, np.nan, 0.5]]), 255),
        (np.array([[-1.0, 0, 0.5]]), None),
        (np.array([[1e6, 0, 0.5]]), None),
    ],
)
def test_colours_are_scaled_by_what_they_are(values: np.ndarray, divisor: int | None) -> None:
    scaled = scaled_colour(values)
    if divisor is None:
        assert scaled is None
        scan = scan_of(
            {**{name: np.zeros(1) for name in "xyz"}, "r": values[:, 0], "g": values[:, 1], "b": values[:, 2]}
        )
        assert list(scan.features) == ["r", "g", "b"]
    else:
        assert scaled is not None
        np.testing.assert_allclose(scaled, values / divisor, rtol=1e-6)


def test_names_that_would_be_equal_are_kept_apart() -> None:
    scan = scan_of({**XYZ, "height": np.ones(4), "scalar_Height": np.zeros(4)})
    assert {name: values[0] for name, values in scan.features.items()} == {"height": 1, "scalar_Height": 0}


@pytest.mark.parametrize(
    ("fields", "label", "message"),
    [
        ({"x": np.ones(4), "y": np.ones(4)}, None, "no points; expected the fields x, y, z, got x, y"),
        ({}, None, "got no fields"),
        ({**XYZ, "z": np.ones(3)}, None, "x, y, z: expected equal lengths, got 4, 4, 3"),
        (
            {**XYZ, "z": np.array([0, np.nan, 1, 2])},
            None,
            r"points: expected finite numbers, got NaN or infinity in 1 of",
        ),
        ({name: np.empty(0) for name in "xyz"}, None, "points: expected at least 1 point, got none"),
        ({**XYZ, "a": np.ones(3)}, None, r"a: expected one value per point \(4\), got 3"),
        ({**XYZ, "truth": np.ones(4)}, "trut", "label: expected one of truth, got 'trut'; did you mean 'truth'?"),
        ({**XYZ}, "label", "label: expected one of no fields, got 'label'"),
    ],
)
def test_bad_fields(fields: dict[str, np.ndarray], label: str | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        scan_of(fields, label)
