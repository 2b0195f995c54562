"""Clouds from numpy files."""

import subprocess
import sys

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.fields import scan_of
from sampled_transformer.data.formats.point_files import npy_fields, npz_fields, read_npy, read_npz, split_columns

TABLE = np.array([[0.5, 1, 2, 0, 0, 1], [3, 4, 5e-3, 0.6, 0.8, 0], [-6, 7, 8, 1, 0, 0]])


def test_npy_and_npz(tmp_path):
    np.save(tmp_path / "a.npy", TABLE)
    np.save(tmp_path / "b.npy", TABLE[:, :3].astype(np.float32))
    assert read_npy(tmp_path / "a.npy").normals.tolist() == TABLE[:, 3:].tolist()
    assert read_npy(tmp_path / "b.npy").normals is None
    np.savez(tmp_path / "a.npz", xyz=TABLE[:, :3], normals=TABLE[:, 3:], junk=np.array([None], dtype=object))
    cloud, faces = read_npz(tmp_path / "a.npz")
    assert cloud.normals.tolist() == TABLE[:, 3:].tolist()
    assert faces is None
    np.savez(tmp_path / "b.npz", vertices=TABLE[:, :3], faces=np.array([[0, 1, 2]]))
    assert read_npz(tmp_path / "b.npz")[1].tolist() == [[0, 1, 2]]
    np.savez(tmp_path / "c.npz", anything=TABLE)
    assert read_npz(tmp_path / "c.npz")[0].points.tolist() == TABLE[:, :3].tolist()


def test_npz_without_points(tmp_path):
    np.savez(tmp_path / "a.npz", weights=TABLE, biases=TABLE)
    with pytest.raises(DataError, match=r"expected an array named points, .* got weights, biases"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize("package", ["laspy", "pypcd4"])
def test_missing_package_says_what_to_install(tmp_path, package):
    (tmp_path / "a.las").write_bytes(b"LASF")
    (tmp_path / "a.pcd").write_bytes(b"VERSION")
    program = f"""
import sys
sys.modules["{package}"] = None
from sampled_transformer.data.files import read_shape
read_shape(sys.argv[1])
"""
    path = tmp_path / ("a.las" if package == "laspy" else "a.pcd")
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=False)
    assert f'needs the package {package}: pip install "sampled-transformer[formats]"' in done.stderr


def test_columns_that_are_not_used():
    unused = [split_columns(np.full((5, width), 3.0)).unused for width in (3, 4, 7)]
    assert unused == ["", "column 4", "columns 4 to 7"]
    assert split_columns(np.hstack([TABLE, TABLE[:, :1]])).unused == "column 7"


def test_fields_of_npz(tmp_path):
    arrays = {"xyz": np.hstack([TABLE[:, :3], [[7], [8], [9]]]), "normal": TABLE[:, 3:], "labels": np.array([4, 5, 6])}
    others = {
        "echo": np.ones((3, 2)),
        "ids": np.arange(9),
        "site": np.array("a"),
        "point_classes": np.array(["b", "c"]),
    }
    np.savez(tmp_path / "a.npz", **arrays, **others)
    fields, classes = npz_fields(tmp_path / "a.npz")
    assert list(fields) == ["x", "y", "z", "column_4", "nx", "ny", "nz", "labels", "echo"]
    assert fields["column_4"].tolist() == [7, 8, 9]
    assert fields["ny"].tolist() == TABLE[:, 4].tolist()
    assert classes == {0: "b", 1: "c"}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"points": TABLE[:, :3], "labels": np.arange(2)}, r"labels: expected one number per point \(3\), got int64"),
        ({"points": TABLE[:, :3], "label": np.array(["a"] * 3)}, "label: expected one number per point .* got <U1"),
        ({"points": TABLE[:, :3], "faces": np.array([[0, 1, 2]])}, "a mesh has no points to label"),
        ({"points": TABLE[None, :, :3]}, r"expected a table of shape \(n, 3\) or wider, got \(1, 3, 3\)"),
        ({"points": TABLE[:, :3], "normals": TABLE[:2, 3:]}, r"normals: expected numbers of shape \(3, 3\)"),
        ({"points": TABLE[:, :3], "junk": np.array([None])}, "junk"),
    ],
)
def test_npz_that_is_no_scan(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message):
        scan_of(npz_fields(tmp_path / "a.npz")[0])


def test_fields_of_npy(tmp_path):
    np.save(tmp_path / "a.npy", TABLE)
    assert list(npy_fields(tmp_path / "a.npy")) == ["x", "y", "z", "nx", "ny", "nz"]
    assert list(npy_fields(tmp_path / "a.npy", ["x", "y", "z", "a", "_", "b"])) == ["x", "y", "z", "a", "b"]
    table = np.zeros(3, [("x", "f4"), ("y", "f4"), ("z", "f4"), ("code", "u1")])
    np.save(tmp_path / "b.npy", table)
    assert list(npy_fields(tmp_path / "b.npy")) == ["x", "y", "z", "code"]
    with pytest.raises(
        DataError, match=r"columns: expected none, because the array has names of its own \(x, y, z, code\)"
    ):
        npy_fields(tmp_path / "b.npy", ["x", "y", "z", "a"])
    np.save(tmp_path / "c.npy", np.zeros((3, 2), table.dtype))
    with pytest.raises(DataError, match=r"expected a structured array of shape \(n,\), got \(3, 2\)"):
        npy_fields(tmp_path / "c.npy")
    np.save(tmp_path / "d.npy", np.zeros(3, [("x", "f4"), ("y", object)]), allow_pickle=True)
    with pytest.raises(DataError, match="type not accepted"):
        npy_fields(tmp_path / "d.npy")
