from pathlib import Path

import h5py
import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats import hdf5
from sampled_transformer.data.formats.hdf5 import read_hdf5


def clouds(sets: int = 4, count: int = 16) -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.5, 0.5, (sets, count, 3)).astype(np.float32)


def write(path: Path, **arrays: np.ndarray) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, compression="gzip")
    return path


def test_values_and_types(tmp_path: Path) -> None:
    points, labels = clouds(), np.arange(4, dtype=np.uint8)
    result = read_hdf5(write(tmp_path / "a.h5", data=points.astype(np.float64), label=labels[:, None]), classes=4)
    assert result.points.dtype == np.float32
    assert np.array_equal(result.points, points)
    assert result.labels.tolist() == [0, 1, 2, 3]
    assert result.normals is None
    result = read_hdf5(write(tmp_path / "b.h5", data=points, label=labels, normal=-points, faceId=labels), classes=4)
    assert np.array_equal(result.normals, -points)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.h5: no such file"):
        read_hdf5(tmp_path / "a.h5", classes=4)


def spoilt(value: float) -> np.ndarray:
    points = clouds()
    points[2, 5, 1] = value
    return points


GOOD = np.arange(4)
BROKEN = {
    "no data": ({"label": GOOD}, r"no array 'data'; expected 'data' and 'label', got label"),
    "no label": ({"data": clouds()}, r"no array 'label'; .* got data"),
    "nothing": ({}, r"no array 'data'; .* got no arrays"),
    "flat data": ({"data": clouds()[0], "label": GOOD}, r"'data': expected shape \(sets, n, 3\), got \(16, 3\)"),
    "two columns": ({"data": clouds()[..., :2], "label": GOOD}, r"'data': expected shape \(sets, n, 3\)"),
    "no points": ({"data": clouds(count=1)[:, :0], "label": GOOD}, "'data': "),
    "whole numbers": ({"data": np.ones((4, 9, 3), int), "label": GOOD}, "'data': expected floats, got int64"),
    "labels short": ({"data": clouds(), "label": GOOD[:3]}, r"'label': expected shape \(4,\), one per set, got \(3,\)"),
    "labels wide": ({"data": clouds(), "label": np.ones((4, 2), int)}, r"'label': expected shape \(4,\), one per set"),
    "labels floats": ({"data": clouds(), "label": GOOD / 2}, "'label': expected integers"),
    "label 15": ({"data": clouds(), "label": GOOD + 12}, "'label': expected 0 to 14, got 12 to 15"),
    "label -1": ({"data": clouds(), "label": GOOD - 1}, "'label': expected 0 to 14, got -1 to 2"),
    "NaN": (
        {"data": spoilt(np.nan), "label": GOOD},
        r"'data': expected finite numbers, got NaN or infinity in 1 of 4 sets \(first: set 2\)",
    ),
    "infinity": (
        {"data": spoilt(np.inf), "label": GOOD},
        r"'data': expected finite numbers, got NaN or infinity in 1 of 4 sets \(first: set 2\)",
    ),
    "normals of another shape": (
        {"data": clouds(), "label": GOOD, "normal": clouds()[:, :3]},
        r"'normal': expected shape \(4, 16, 3\), as 'data'",
    ),
}


@pytest.mark.parametrize(("arrays", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_content(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    expect_refusal(path, message)


def expect_refusal(path: Path, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        read_hdf5(path, classes=15)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_no_hdf5(tmp_path: Path) -> None:
    path = write(tmp_path / "a.h5", data=clouds(), label=GOOD)
    whole = path.read_bytes()
    for data in (b"", b"no hdf5 at all", whole[: len(whole) // 2], whole[:-1]):
        path.write_bytes(data)
        expect_refusal(path, "not an HDF5 file, or damaged")


def test_sizes_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("data", (10**6, 10**6, 3), "f4", chunks=(1, 1000, 3))
        file["label"] = GOOD
    expect_refusal(path, r"'data': claims \(1000000, 1000000, 3\) float32, .* but stores 0 bytes")


def test_values_in_other_files_are_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(4 * 16 * 3 * 4))
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("data", (4, 16, 3), "f4", external=[(str(secret), 0, 4 * 16 * 3 * 4)])
        file["label"] = GOOD
    expect_refusal(path, "'data': expected values in this file")
    other = tmp_path / "other.h5"
    with h5py.File(other, "w") as file:
        file["data"] = clouds()
    with h5py.File(path, "w") as file:
        file["data"] = h5py.ExternalLink(str(other), "/data")
        file["label"] = GOOD
    expect_refusal(path, "'data': expected an array in this file, got a group or a link")
    with h5py.File(path, "w") as file:
        layout = h5py.VirtualLayout((4, 16, 3), "f4")
        layout[:] = h5py.VirtualSource(str(other), "data", (4, 16, 3))
        file.create_virtual_dataset("data", layout)
        file["label"] = GOOD
    expect_refusal(path, "'data': expected values in this file")
    with h5py.File(path, "w") as file:
        file.create_group("data")
        file["label"] = GOOD
    expect_refusal(path, "'data': expected an array in this file, got a group or a link")


def test_zeros_that_unpack_to_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deflate makes a hundredth of them, which what the file stores would allow."""
    monkeypatch.setattr(hdf5, "ALWAYS_ALLOWED", 1000)
    path = write(tmp_path / "a.h5", data=np.zeros((10, 1000, 3), np.float32), label=np.zeros(10, int))
    with pytest.raises(DataError, match=r"'data': claims .* 120,000 bytes, but stores [\d,]+ bytes; the limit is"):
        read_hdf5(path, 2)


def test_a_chunk_counts_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdf5, "ALWAYS_ALLOWED", 1000)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        shape = {"shape": (1, 10, 3), "maxshape": (None, None, 3), "chunks": (10, 1000, 3), "dtype": "f4"}
        file.create_dataset("data", **shape, compression="gzip")[:] = 1
    with pytest.raises(DataError, match="120,000 bytes, but stores"):
        read_hdf5(tmp_path / "a.h5", 2)
