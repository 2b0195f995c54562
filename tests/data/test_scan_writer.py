"""write_scan: every format comes back with the same points and fields, and with its classes."""

from pathlib import Path

import numpy as np
import pytest
from helpers.scans import CLASSES, COUNT, ENDINGS, write_example

from sampled_transformer.data.scan_writer import write_scan
from sampled_transformer.data.scans import read_scan

RANDOM = np.random.default_rng(7)
LABELS = RANDOM.integers(0, 3, COUNT)
CONFIDENCE = RANDOM.uniform(0, 1, COUNT).astype(np.float32)
REPLACED = {"label", "labels"}  # the true labels are features where we ask for the classes


@pytest.mark.parametrize("kind", ENDINGS)
def test_points_fields_and_order_stay_and_classes_come_back(tmp_path: Path, kind: str) -> None:
    source = write_example(tmp_path, kind)
    before = read_scan(source)
    suffix = {".npy": ".npz"}.get(source.suffix, source.suffix)
    written = write_scan(source, tmp_path / f"out{suffix}", LABELS, CONFIDENCE, CLASSES)
    assert written.path == tmp_path / f"out{suffix}"
    name = {".npz": "point_labels", ".npy": "point_labels", ".las": None, ".laz": None}.get(source.suffix, "class")
    columns = None
    if kind == "txt-unnamed":
        columns = ["x", "y", "z", *before.features, "class", "confidence"]
    after = read_scan(written.path, columns, label=name)
    np.testing.assert_array_equal(after.points, before.points)
    np.testing.assert_array_equal(after.labels, LABELS)
    np.testing.assert_array_equal(after.features.pop("confidence").astype(np.float32), CONFIDENCE)
    for feature, values in before.features.items():
        np.testing.assert_array_equal(after.features[feature], values, err_msg=feature)
    assert after.features.keys() - before.features.keys() <= REPLACED
    if before.normals is not None:
        np.testing.assert_array_equal(after.normals, before.normals)
    if source.suffix not in (".txt", ".csv"):
        assert after.classes == dict(enumerate(CLASSES))
    assert not list(tmp_path.glob(".*"))
