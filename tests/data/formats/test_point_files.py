"""Clouds from text, numpy and PCD files."""

import subprocess
import sys

import numpy as np
import pytest
from pypcd4 import Encoding, PointCloud

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.point_files import read_npy, read_npz, read_pcd, read_text

TABLE = np.array([[0.5, 1, 2, 0, 0, 1], [3, 4, 5e-3, 0.6, 0.8, 0], [-6, 7, 8, 1, 0, 0]])


def text(table: np.ndarray, delimiter: str = " ") -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in table.tolist())


@pytest.mark.parametrize(
    ("content", "has_normals"),
    [
        (text(TABLE), True),
        (text(TABLE, ","), True),
        (text(TABLE, " , "), True),
        (text(TABLE, "\t  "), True),
        (text(TABLE, ";"), True),
        (text(TABLE, ";").replace(".", ","), True),
        (text(TABLE, ",").replace("\n", ",\r\n\r\n"), True),
        ("\ufeff" + text(TABLE[:, :3]), False),
        (text(TABLE[:, :4]), False),
        ("3\n" + text(TABLE[:, :3]), False),
        (text(np.hstack([TABLE[:, :3], TABLE[:, 3:] * 255])), False),
        (text(np.hstack([TABLE, TABLE])), True),
        ("x,y,z,nx,ny,nz\n" + text(TABLE, ","), True),
        ('"X";"Y";"Z";"Nx";"Ny";"Nz"\n' + text(TABLE, ";"), True),
        ("//X Y Z Normal_X Normal_Y Normal_Z\n" + text(TABLE), True),
        ("# a remark\nx y z nx ny nz\n# another\n" + text(TABLE), True),
        ("# first remark\n# second\n" + text(TABLE[:, :3]) + "# the end\n", False),
        ("normal_x normal_y normal_z x y z\n" + text(TABLE[:, [3, 4, 5, 0, 1, 2]]), True),
        ("id x y z\n" + text(np.hstack([[[7], [8], [9]], TABLE[:, :3]])), False),
        ("x y z red green blue\n" + text(np.hstack([TABLE[:, :3], TABLE[:, 3:] * 9])), False),
    ],
)
def test_text_forms(tmp_path, content, has_normals):
    path = tmp_path / "a.xyz"
    path.write_bytes(content.encode())
    cloud = read_text(path)
    np.testing.assert_allclose(cloud.points, TABLE[:, :3])
    if has_normals:
        np.testing.assert_allclose(cloud.normals, TABLE[:, 3:])
    else:
        assert cloud.normals is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("\n\n", "expected at least one line of numbers"),
        ("# only remarks\n", "expected at least one line of numbers"),
        ("hello\nworld\n", "expected at most 1 line of text before the numbers, got 2"),
        ("1 2\n3 4\n", r"expected a table of shape \(n, 3\) or wider, got \(2, 2\)"),
        ("1 2 3\n4 5 6\n7 8\n", "line 3: expected 3 columns, got 2"),
        ("1,2,3\n\n4,5,6,7\n", "line 3: expected 3 columns, got 4"),
        ("1 2 3\n4 five 6\n", "line 2: expected numbers, got 'five'"),
        ("1 2 three\n4 5 6\n", "line 1: expected numbers, got 'three'"),
        ("1 2 3\n4,5,6\n", "line 2: expected numbers, got '4,5,6'"),
        ("9\n1 2 3\n4 5 6\n", "header claims 9 points, but 2 lines follow"),
        ("1 2 3\n\0\0\0\n", "binary data"),
    ],
)
def test_bad_text(tmp_path, content, message):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(DataError, match=message):
        read_text(tmp_path / "a.txt")


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


ENCODINGS = [Encoding.ASCII, Encoding.BINARY, Encoding.BINARY_COMPRESSED]


def write_pcd(path, table: np.ndarray, fields: str, encoding: Encoding) -> None:
    names = fields.split()
    PointCloud.from_points(table.astype(np.float32), names, [np.float32] * len(names)).save(path, encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_pcd(tmp_path, encoding):
    table = np.hstack([TABLE, [[7], [8], [9]]])
    write_pcd(tmp_path / "a.pcd", table, "x y z normal_x normal_y normal_z intensity", encoding)
    cloud = read_pcd(tmp_path / "a.pcd")
    np.testing.assert_allclose(cloud.points, TABLE[:, :3], rtol=1e-6)
    np.testing.assert_allclose(cloud.normals, TABLE[:, 3:], rtol=1e-6)
    write_pcd(tmp_path / "b.pcd", TABLE[:, :3], "x y z", encoding)
    assert read_pcd(tmp_path / "b.pcd").normals is None


def test_organised_pcd_leaves_out_pixels_without_a_point(tmp_path):
    table = np.vstack([TABLE[:, :3], [[np.nan] * 3]])
    write_pcd(tmp_path / "a.pcd", table, "x y z", Encoding.BINARY)
    data = (tmp_path / "a.pcd").read_bytes()
    (tmp_path / "a.pcd").write_bytes(data.replace(b"WIDTH 4\nHEIGHT 1", b"WIDTH 2\nHEIGHT 2"))
    np.testing.assert_allclose(read_pcd(tmp_path / "a.pcd").points, TABLE[:, :3], rtol=1e-6)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("count", [b"1000000000000", b"4"])
def test_pcd_header_that_lies(tmp_path, encoding, count):
    write_pcd(tmp_path / "a.pcd", TABLE[:, :3], "x y z", encoding)
    data = (tmp_path / "a.pcd").read_bytes()
    (tmp_path / "a.pcd").write_bytes(
        data.replace(b"POINTS 3", b"POINTS " + count).replace(b"WIDTH 3", b"WIDTH " + count)
    )
    with pytest.raises(DataError, match=f"header claims {count.decode()} points"):
        read_pcd(tmp_path / "a.pcd")


@pytest.mark.parametrize("encoding", ENCODINGS[1:])
def test_truncated_pcd(tmp_path, encoding):
    write_pcd(tmp_path / "a.pcd", TABLE[:, :3], "x y z", encoding)
    (tmp_path / "a.pcd").write_bytes((tmp_path / "a.pcd").read_bytes()[:-5])
    with pytest.raises(DataError, match="header claims 3 points"):
        read_pcd(tmp_path / "a.pcd")


def test_pcd_with_a_wide_row(tmp_path):
    write_pcd(tmp_path / "a.pcd", TABLE[:, :4], "x y z extra", Encoding.BINARY)
    data = (tmp_path / "a.pcd").read_bytes()
    (tmp_path / "a.pcd").write_bytes(data.replace(b"COUNT 1 1 1 1", b"COUNT 1 1 1 999999999"))
    with pytest.raises(DataError, match="header claims 3 points of 1000000002 values"):
        read_pcd(tmp_path / "a.pcd")


def test_pcd_without_positions(tmp_path):
    write_pcd(tmp_path / "a.pcd", TABLE[:, :2], "u v", Encoding.BINARY)
    with pytest.raises(DataError, match="expected the fields x, y, z, got u, v"):
        read_pcd(tmp_path / "a.pcd")
    (tmp_path / "b.pcd").write_bytes(b"VERSION 0.7\nFIELDS x y z\n")
    with pytest.raises(DataError, match="not a PCD file"):
        read_pcd(tmp_path / "b.pcd")


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
