"""Clouds from numpy files."""

import subprocess
import sys

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.point_files import read_npy, read_npz

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
