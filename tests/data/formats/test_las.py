"""LAS and LAZ: map coordinates keep their digits, and false headers are detected before they cost time or memory."""

import struct

import laspy
import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.las import (
    LAS_CLASSES,
    SLICE,
    colour_divisor,
    las_bounds,
    las_chunks,
    las_classes,
    las_fields,
    no_panics,
    read_las,
)


def write_las(path, points: np.ndarray, version: str = "1.2") -> bytes:
    header = laspy.LasHeader(point_format=3 if version == "1.2" else 6, version=version)
    header.offsets, header.scales = points.min(0), [0.001] * 3
    las = laspy.LasData(header)
    las.x, las.y, las.z = points.T
    las.write(path)
    return path.read_bytes()


def random_points(count: int) -> np.ndarray:
    return np.random.default_rng(0).uniform((500_000, 4_000_000, 0), (500_005, 4_000_005, 5), (count, 3))


@pytest.mark.parametrize("version", ["1.2", "1.4"])
@pytest.mark.parametrize("ending", ["las", "laz"])
@pytest.mark.parametrize("count", [1000, SLICE + 1])
def test_map_coordinates(tmp_path, ending, version, count):
    points = random_points(count)
    write_las(tmp_path / f"a.{ending}", points, version)
    np.testing.assert_allclose(read_las(tmp_path / f"a.{ending}").points, points, rtol=0, atol=0.0006)


@pytest.mark.parametrize(
    ("place", "form", "value", "message"),
    [
        (0, "4s", b"NOPE", "expected it to begin with LASF"),
        (96, "I", 10**9, "records before byte 1000000000"),
        (100, "I", 2**32 - 1, "header claims 4294967295 records"),
        (107, "I", 2**32 - 1, "header claims 4294967295 points"),
    ],
)
@pytest.mark.parametrize("ending", ["las", "laz"])
def test_header_that_lies(tmp_path, ending, place, form, value, message):
    data = bytearray(write_las(tmp_path / f"a.{ending}", random_points(100)))
    struct.pack_into(f"<{form}", data, place, value)
    (tmp_path / f"a.{ending}").write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_las(tmp_path / f"a.{ending}")


def test_extended_records_that_are_not_there(tmp_path):
    data = bytearray(write_las(tmp_path / "a.las", random_points(100), "1.4"))
    struct.pack_into("<I", data, 243, 10**9)
    (tmp_path / "a.las").write_bytes(data)
    with pytest.raises(DataError, match="header claims 1000000000 extended records"):
        read_las(tmp_path / "a.las")


def test_table_of_chunks_that_lies(tmp_path):
    data = bytearray(write_las(tmp_path / "a.laz", random_points(100)))
    start = struct.unpack_from("<I", data, 96)[0]
    table = struct.unpack_from("<q", data, start)[0]
    struct.pack_into("<I", data, table + 4, 2**32 - 1)
    (tmp_path / "a.laz").write_bytes(data)
    with pytest.raises(DataError, match="chunk table claims 4294967295 chunks"):
        read_las(tmp_path / "a.laz")
    struct.pack_into("<q", data, start, 10**15)
    (tmp_path / "a.laz").write_bytes(data)
    with pytest.raises(DataError, match="no chunk table"):
        read_las(tmp_path / "a.laz")


def test_compression_record_that_lies(tmp_path):
    data = bytearray(write_las(tmp_path / "a.laz", random_points(100)))
    items = data.index(b"laszip encoded") - 2 + 54 + 32
    struct.pack_into("<H", data, items, 0)
    (tmp_path / "a.laz").write_bytes(data)
    with pytest.raises(DataError, match="damaged LASzip record"):
        read_las(tmp_path / "a.laz")


@pytest.mark.parametrize("ending", ["las", "laz"])
def test_truncated(tmp_path, ending):
    data = write_las(tmp_path / f"a.{ending}", random_points(100))
    (tmp_path / f"a.{ending}").write_bytes(data[:-50])
    with pytest.raises(DataError, match=r"header claims 100 points|no chunk table"):
        read_las(tmp_path / f"a.{ending}")


def test_fields_colours_and_bounds(tmp_path):
    las = laspy.create(point_format=7, file_version="1.4")
    las.header.scales = [0.01] * 3
    las.x, las.y, las.z = np.array([[1.0, 2], [3, 4], [5, 6]])
    las.red, las.green, las.blue = np.array([[0, 200], [100, 0], [0, 0]])
    las.scan_angle, las.classification = np.array([5000, -5000]), np.array([2, 250])
    las.write(tmp_path / "a.laz")
    assert colour_divisor(tmp_path / "a.laz") == 255  # as many programs write them
    fields = las_fields(next(las_chunks(tmp_path / "a.laz", 10)), 255)
    np.testing.assert_allclose(fields["colour"], [[0, 100 / 255, 0], [200 / 255, 0, 0]], rtol=1e-6)
    np.testing.assert_allclose(fields["scan_angle"], [30, -30], rtol=1e-6)
    assert fields["classification"].tolist() == [2, 250]
    assert not {"X", "red", "green", "blue"} & fields.keys()
    count, lower, upper = las_bounds(tmp_path / "a.laz")
    assert count == 2
    np.testing.assert_allclose([lower, upper], [[1, 3, 5], [2, 4, 6]])
    assert las_classes(tmp_path / "a.laz") == LAS_CLASSES
    las.red = np.array([0, 256])
    las.write(tmp_path / "a.laz")
    assert colour_divisor(tmp_path / "a.laz") == 65535


def test_chunks_are_the_points_in_order(tmp_path):
    points = random_points(100)
    write_las(tmp_path / "a.las", points)
    parts = list(las_chunks(tmp_path / "a.las", 30))
    assert [len(part) for part in parts] == [30, 30, 30, 10]
    np.testing.assert_allclose(np.concatenate([part.x for part in parts]), points[:, 0], rtol=0, atol=0.0006)


def test_a_panic_is_an_error_like_any_other():
    class PanicException(BaseException):
        """As pyo3 raises it."""

    with pytest.raises(DataError, match="damaged LAZ data"), no_panics():
        raise PanicException


def test_lengths_of_extended_records_that_lie(tmp_path):
    data = bytearray(write_las(tmp_path / "a.las", random_points(5), "1.4"))
    start = len(data)
    data[235:247] = struct.pack("<QI", start, 1)
    data += struct.pack("<H16sHQ32s", 0, b"someone", 1, 2**40, b"")
    (tmp_path / "a.las").write_bytes(data)
    with pytest.raises(DataError, match="extended record 1 claims to end at byte"):
        next(las_chunks(tmp_path / "a.las", 10))


def test_layers_of_all_chunks_are_walked_through(tmp_path):
    """A file of three chunks is read; one whose last chunk claims too much is not."""
    header = laspy.LasHeader(point_format=7, version="1.4")
    header.add_extra_dim(laspy.ExtraBytesParams("own", "uint16"))
    las = laspy.LasData(header)
    las.x, las.y, las.z = np.random.default_rng(0).normal(size=(3, 120_000))
    las.write(str(tmp_path / "a.laz"))
    assert sum(map(len, las_chunks(tmp_path / "a.laz", 50_000))) == 120_000
    data = bytearray((tmp_path / "a.laz").read_bytes())
    start = struct.unpack("<I", data[96:100])[0]
    place = start + 8
    head = las.point_format.size + 4
    for _ in range(2):
        place += head + 48 + sum(struct.unpack("<12I", data[place + head : place + head + 48]))
    data[place + head : place + head + 4] = struct.pack("<I", 2**31)
    (tmp_path / "b.laz").write_bytes(data)
    with pytest.raises(DataError, match=r"a chunk claims layers of 2,147,\d+,\d+ bytes, which are not there"):
        next(las_chunks(tmp_path / "b.laz", 10))
