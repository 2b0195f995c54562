"""PCD: every encoding, organised clouds, and false headers."""

import numpy as np
import pytest
from pypcd4 import Encoding, PointCloud

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.pcd import parse_pcd, pcd_fields, points_in, read_pcd

TABLE = np.array([[0.5, 1, 2, 0, 0, 1], [3, 4, 5e-3, 0.6, 0.8, 0], [-6, 7, 8, 1, 0, 0]])

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


def test_colours_are_unpacked_whatever_their_type(tmp_path):
    packed = np.array([0x0A141E, 0xFFFF8000], np.uint32)
    for name, values in (("rgb", packed.view(np.float32)), ("rgba", packed)):
        columns = [*np.float32([[1, 2], [3, 4], [5, 6]]), values]
        kinds = [column.dtype for column in columns]
        PointCloud.from_points(columns, ["x", "y", "z", name], kinds).save(tmp_path / "a.pcd", Encoding.BINARY)
        fields = pcd_fields(parse_pcd(tmp_path / "a.pcd"))
        colours = np.stack([fields[colour] for colour in ("red", "green", "blue")], 1)
        assert colours.tolist() == [[10, 20, 30], [255, 128, 0]]
        assert list(fields) == ["x", "y", "z", "red", "green", "blue"]


def test_fields_of_an_organised_cloud_are_those_of_its_points(tmp_path):
    table = np.vstack([TABLE[:, :4], [[np.nan, np.nan, np.nan, 7]]])
    table[0, 3] = np.nan  # not a position
    write_pcd(tmp_path / "a.pcd", table, "x y z intensity", Encoding.BINARY)
    data = (tmp_path / "a.pcd").read_bytes()
    (tmp_path / "a.pcd").write_bytes(data.replace(b"WIDTH 4\nHEIGHT 1", b"WIDTH 2\nHEIGHT 2"))
    parsed = parse_pcd(tmp_path / "a.pcd")
    assert points_in(parsed).tolist() == [True, True, True, False]
    assert len(pcd_fields(parsed)["intensity"]) == 3


def test_a_single_point_as_text(tmp_path):
    write_pcd(tmp_path / "a.pcd", TABLE[:1, :3], "x y z", Encoding.ASCII)
    np.testing.assert_allclose(read_pcd(tmp_path / "a.pcd").points, TABLE[:1, :3], rtol=1e-6)
