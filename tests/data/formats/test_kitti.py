"""SemanticKITTI: points, remission, and labels from the places where they may be."""

from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.kitti import kitti_fields, label_file

TABLE = np.float32([[1, 2, 3, 0.5], [4, 5, 6, 0.25], [7, 8, 9, 1]])


@pytest.mark.parametrize("place", ["labels/000.label", "../labels/000.label", "000.label"])
def test_labels_beside_the_points(tmp_path: Path, place: str) -> None:
    path = tmp_path / "velodyne" / "000.bin"
    (path.parent / place).parent.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(exist_ok=True)
    TABLE.tofile(path)
    np.array([40, 7 << 16 | 252, 0], "<u4").tofile(path.parent / place)
    fields = kitti_fields(path)
    assert list(fields) == ["x", "y", "z", "remission", "label"]
    np.testing.assert_array_equal(np.stack([fields[name] for name in ("x", "y", "z", "remission")], 1), TABLE)
    assert fields["label"].tolist() == [40, 252, 0]  # without the number of the object
    found = label_file(path)
    assert found is not None
    assert found.samefile(path.parent / place)


def test_without_labels(tmp_path: Path) -> None:
    TABLE.tofile(tmp_path / "000.bin")
    assert list(kitti_fields(tmp_path / "000.bin")) == ["x", "y", "z", "remission"]


def test_sizes_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(17))
    with pytest.raises(DataError, match=r"expected 16 bytes per point .* got 17 bytes"):
        kitti_fields(tmp_path / "a.bin")
    TABLE.tofile(tmp_path / "b.bin")
    (tmp_path / "b.label").write_bytes(bytes(8))
    with pytest.raises(DataError, match=r"b\.label: expected 4 bytes per point \(12\), got 8"):
        kitti_fields(tmp_path / "b.bin")
