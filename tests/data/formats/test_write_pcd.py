"""PCD with classes: other fields stay, organised clouds keep their pixels."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from helpers.scans import CLASSES, COUNT, PCD, write_example
from pypcd4 import Encoding, PointCloud

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.labelled import Labelled
from sampled_transformer.data.formats.pcd import parse_pcd, pcd_fields
from sampled_transformer.data.formats.write_pcd import write_pcd
from sampled_transformer.support.palette import class_colours

LABELS = np.random.default_rng(1).integers(0, 3, COUNT).astype(np.uint8)
CONFIDENCE = np.random.default_rng(2).uniform(0, 1, COUNT).astype(np.float32)
LABELLED = Labelled(LABELS, CONFIDENCE, dict(enumerate(CLASSES)))


def copy(source: Path, labelled: Labelled = LABELLED) -> tuple[Path, list[str]]:
    out = source.with_name("out.pcd")
    with open(out, "wb") as file:
        notes = write_pcd(source, parse_pcd(source), file, labelled)
    return out, notes


@pytest.mark.parametrize("kind", PCD)
def test_other_fields_stay(tmp_path: Path, kind: str) -> None:
    source = write_example(tmp_path, kind)
    out, notes = copy(source)
    old, new = PointCloud.from_path(source), PointCloud.from_path(out)
    assert new.fields == (*old.fields, "class", "confidence")
    for name in old.fields:
        assert new.pc_data[name].tobytes() == old.pc_data[name].tobytes()  # colours may be NaN as floats
    np.testing.assert_array_equal(new.pc_data["class"], LABELS)
    np.testing.assert_array_equal(new.pc_data["confidence"], CONFIDENCE)
    assert new.metadata.data.value == ("ascii" if kind == "pcd-ascii" else "binary")
    assert notes == (["written as binary, where the file was binary_compressed"] if "compressed" in kind else [])
    assert b"# class 1 tall building\n" in out.read_bytes()


@pytest.mark.parametrize("kind", PCD)
def test_a_second_time_replaces_the_first(tmp_path: Path, kind: str) -> None:
    first = copy(write_example(tmp_path, kind))[0].rename(tmp_path / "first.pcd")
    second, _ = copy(first, LABELLED._replace(labels=2 - LABELS))
    old, new = parse_pcd(first), parse_pcd(second)
    assert new.data.dtype == old.data.dtype
    np.testing.assert_array_equal(new.data["class"], 2 - LABELS)
    assert [line for line in new.lines if line.startswith("# class")] == [
        f"# class {i} {n}" for i, n in enumerate(CLASSES)
    ]


@pytest.mark.parametrize("kind", PCD)
def test_colours_are_packed(tmp_path: Path, kind: str) -> None:
    out, _ = copy(write_example(tmp_path, kind), LABELLED._replace(coloured=True))
    fields = pcd_fields(parse_pcd(out))
    np.testing.assert_array_equal(
        np.stack([fields[name] for name in ("red", "green", "blue")], 1), class_colours(LABELS)
    )


@pytest.mark.parametrize("encoding", [Encoding.ASCII, Encoding.BINARY])
def test_organised_cloud_keeps_pixels_without_a_point(tmp_path: Path, encoding: Encoding) -> None:
    table = np.float32([[1, 2, 3], [np.nan] * 3, [4, 5, 6], [7, 8, 9]])
    PointCloud.from_xyz_points(table).save(tmp_path / "a.pcd", encoding)
    data = (tmp_path / "a.pcd").read_bytes()
    (tmp_path / "a.pcd").write_bytes(data.replace(b"WIDTH 4\nHEIGHT 1", b"WIDTH 2\nHEIGHT 2"))
    labelled = Labelled(np.array([2, 1, 2], np.uint8), np.float32([0.5, 0.6, 0.7]), {1: "a", 2: "b"})
    out, notes = copy(tmp_path / "a.pcd", labelled)
    new = parse_pcd(out)
    assert (new.header.width, new.header.height) == (2, 2)
    np.testing.assert_array_equal(new.data["class"], [2, 0, 1, 2])
    np.testing.assert_array_equal(new.data["confidence"], np.float32([0.5, 0, 0.6, 0.7]))
    assert notes == ["1 pixel without a point has class 0 and confidence 0"]


def test_fields_without_a_name_and_with_several_values_stay(tmp_path: Path) -> None:
    header = "VERSION 0.7\nFIELDS x y z _ hist\nSIZE 4 4 4 1 4\nTYPE F F F U F\nCOUNT 1 1 1 4 2\nWIDTH 2\nHEIGHT 1\n"
    header += "VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA binary\n"
    rows = np.zeros(2, [("xyz", "<f4", 3), ("_", "u1", 4), ("hist", "<f4", 2)])
    rows["xyz"], rows["_"], rows["hist"] = [[1, 2, 3], [4, 5, 6]], 7, [[8, 9], [10, 11]]
    (tmp_path / "a.pcd").write_bytes(header.encode() + rows.tobytes())
    labelled = Labelled(np.array([1, 0], np.uint8), np.float32([0.5, 0.6]), {0: "a", 1: "b"})
    out, _ = copy(tmp_path / "a.pcd", labelled)
    assert b"FIELDS x y z _ hist class confidence\n" in out.read_bytes()
    assert b"COUNT 1 1 1 4 2 1 1\n" in out.read_bytes()
    body = out.read_bytes().partition(b"DATA binary\n")[2]
    added = np.dtype([*rows.dtype.descr, ("class", "u1"), ("confidence", "<f4")])
    new = np.frombuffer(body, added)
    for name in rows.dtype.names or ():
        np.testing.assert_array_equal(new[name], rows[name])
    np.testing.assert_array_equal(new["class"], [1, 0])


def test_labels_must_be_as_many_as_points(tmp_path: Path) -> None:
    source = write_example(tmp_path, "pcd-ascii")
    with pytest.raises(DataError, match=r"labels: expected one per point \(40\), got 39"):
        write_pcd(source, parse_pcd(source), BytesIO(), LABELLED._replace(labels=LABELS[1:], confidence=CONFIDENCE[1:]))


def test_a_field_name_that_the_reader_cuts_off_is_refused(tmp_path: Path) -> None:
    source = write_example(tmp_path, "pcd-binary")
    source.write_bytes(source.read_bytes().replace(b"intensity label", b"intensity lab,l"))
    with pytest.raises(DataError, match="field names: expected letters and digits, got x y z"):
        copy(source)


def test_a_field_of_our_name_with_several_values_is_refused(tmp_path: Path) -> None:
    header = "VERSION 0.7\nFIELDS x y z class\nSIZE 4 4 4 1\nTYPE F F F U\nCOUNT 1 1 1 4\nWIDTH 1\nHEIGHT 1\n"
    header += "VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 1\nDATA binary\n"
    (tmp_path / "a.pcd").write_bytes(header.encode() + bytes(16))
    with pytest.raises(DataError, match="class and confidence: expected one value per point, got a field with several"):
        copy(tmp_path / "a.pcd", Labelled(np.zeros(1, np.uint8), np.zeros(1, np.float32), {0: "a"}))
