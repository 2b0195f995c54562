"""Numpy files with classes: all arrays stay."""

from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.labelled import Labelled
from sampled_transformer.data.formats.write_numpy import labelled_arrays

POINTS = np.arange(12, dtype=np.float32).reshape(4, 3)
LABELLED = Labelled(np.array([0, 2, 2, 0], np.uint8), np.float32([0.1, 0.2, 0.3, 0.4]), {0: "a", 2: "c"})


def test_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", xyz=POINTS, site=np.array("north"), confidence=np.ones(4), ids=np.arange(7))
    arrays = labelled_arrays(tmp_path / "a.npz", LABELLED)
    assert arrays.keys() == {"xyz", "site", "confidence", "ids", "point_labels", "point_classes"}
    np.testing.assert_array_equal(arrays["xyz"], POINTS)
    assert arrays["xyz"].dtype == np.float32
    np.testing.assert_array_equal(arrays["confidence"], LABELLED.confidence)
    np.testing.assert_array_equal(arrays["point_labels"], LABELLED.labels)
    assert arrays["point_classes"].tolist() == ["a", "", "c"]  # by number
    assert arrays["site"] == "north"


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.hstack([POINTS, POINTS]))
    np.testing.assert_array_equal(labelled_arrays(tmp_path / "a.npy", LABELLED)["points"], np.hstack([POINTS, POINTS]))
    table = np.zeros(4, [("Z", "f4"), ("X", "f8"), ("Y", "i4"), ("label", "u1")])
    table["X"], table["Y"], table["Z"], table["label"] = *POINTS.T, 9
    np.save(tmp_path / "b.npy", table)
    arrays = labelled_arrays(tmp_path / "b.npy", LABELLED)
    np.testing.assert_array_equal(arrays["points"], POINTS)
    assert arrays["label"].tolist() == [9] * 4
    assert arrays.keys() == {"points", "label", "point_labels", "confidence", "point_classes"}


def test_what_cannot_be_written(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", points=POINTS[:3])
    with pytest.raises(DataError, match=r"labels: expected one per point \(3\), got 4"):
        labelled_arrays(tmp_path / "a.npz", LABELLED)
    np.savez(tmp_path / "b.npz", points=POINTS, faces=np.array([[0, 1, 2]]))
    with pytest.raises(DataError, match="a mesh has no points to label"):
        labelled_arrays(tmp_path / "b.npz", LABELLED)
    np.save(tmp_path / "c.npy", np.zeros(4, [("u", "f4"), ("v", "f4")]))
    with pytest.raises(DataError, match="expected the fields x, y, z, got u, v"):
        labelled_arrays(tmp_path / "c.npy", LABELLED)
