"""PLY with classes: header, other properties, other elements and the encoding stay."""

import struct
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from helpers.scans import CLASSES, COUNT, PLY, write_example

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.labelled import Labelled
from sampled_transformer.data.formats.ply import parse_ply
from sampled_transformer.data.formats.write_ply import write_ply
from sampled_transformer.support.palette import class_colours

NAMES = dict(enumerate(CLASSES))
LABELS = np.random.default_rng(1).integers(0, 3, COUNT).astype(np.uint8)
CONFIDENCE = np.random.default_rng(2).uniform(0, 1, COUNT).astype(np.float32)
LABELLED = Labelled(LABELS, CONFIDENCE, NAMES)


def copy(source: Path, labelled: Labelled = LABELLED) -> Path:
    with open(source.with_name("out.ply"), "wb") as file:
        write_ply(parse_ply(source), file, labelled)
    return source.with_name("out.ply")


@pytest.mark.parametrize("kind", PLY)
def test_other_properties_stay_in_their_order(tmp_path: Path, kind: str) -> None:
    source = write_example(tmp_path, kind)
    old, new = parse_ply(source), parse_ply(copy(source))
    assert new.encoding == old.encoding
    names = list(old.vertex_columns())
    assert list(new.vertex_columns()) == [*names, "class", "confidence"]
    for name in names:
        np.testing.assert_array_equal(new.vertex_columns()[name], old.vertex_columns()[name])
    np.testing.assert_array_equal(new.vertex_columns()["class"], LABELS)
    np.testing.assert_array_equal(new.vertex_columns()["confidence"].astype(np.float32), CONFIDENCE)
    assert [line for line in new.header if line in old.header] == old.header
    assert "property uchar class" in new.header
    assert "comment class 1 tall building" in new.header


@pytest.mark.parametrize("kind", PLY)
def test_a_second_time_replaces_the_first(tmp_path: Path, kind: str) -> None:
    first = copy(write_example(tmp_path, kind)).rename(tmp_path / "first.ply")
    second = copy(first, Labelled(LABELS.astype(np.uint16), CONFIDENCE, {0: "a", 1: "b", 2: "c", 700: "d"}))
    old, new = parse_ply(first), parse_ply(second)
    assert list(new.vertex_columns()) == list(old.vertex_columns())
    assert "property ushort class" in new.header
    assert [line for line in new.header if line.startswith("comment class")] == [
        "comment class 0 a",
        "comment class 1 b",
        "comment class 2 c",
        "comment class 700 d",
    ]


@pytest.mark.parametrize("kind", PLY)
@pytest.mark.parametrize("prefix", ["", "diffuse_"])
def test_colours_are_replaced_where_they_are(tmp_path: Path, kind: str, prefix: str) -> None:
    source = write_example(tmp_path, kind)
    data = source.read_bytes()
    for name in (b"red", b"green", b"blue"):
        data = data.replace(b"property uchar " + name, b"property uchar " + prefix.encode() + name)
    source.write_bytes(data)
    new = parse_ply(copy(source, LABELLED._replace(coloured=True))).vertex_columns()
    colours = np.stack([new[f"{prefix}{name}"] for name in ("red", "green", "blue")], 1)
    np.testing.assert_array_equal(colours, class_colours(LABELS))
    assert len([name for name in new if name.endswith("red")]) == 1


def test_colours_are_added_where_there_are_none(tmp_path: Path) -> None:
    path = tmp_path / "a.ply"
    header = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\n"
    path.write_text(header + "end_header\n0 0.10 0\n1 1 1e-3\n")
    copied = copy(path, Labelled(np.array([0, 1], np.uint8), np.float32([0.5, 0.25]), {0: "a", 1: "b"}, True))
    lines = copied.read_text().splitlines()
    assert lines[-2:] == ["0 0.10 0 0 0.5 0 114 178", "1 1 1e-3 1 0.25 213 94 0"]  # words stay as they were


@pytest.mark.parametrize("encoding", ["ascii", "binary_little_endian"])
def test_other_elements_and_line_ends_stay(tmp_path: Path, encoding: str) -> None:
    header = ["ply", f"format {encoding} 1.0", "element camera 1", "property list uchar short pixels"]
    header += ["element vertex 2", "property float x", "property float y", "property float z"]
    header += ["element edge 1", "property int vertex1", "property int vertex2", "end_header", ""]
    if encoding == "ascii":
        before, points, after = b"2 7 8\r\n", b"1 2 3\r\n4 5 6\r\n", b"0 1\r\n"
        wanted = b"1 2 3 1 0.5\r\n4 5 6 0 0.75\r\n"
    else:
        before, after = struct.pack("<Bhh", 2, 7, 8), struct.pack("<ii", 0, 1)
        points = struct.pack("<6f", 1, 2, 3, 4, 5, 6)
        wanted = struct.pack("<fffBf", 1, 2, 3, 1, 0.5) + struct.pack("<fffBf", 4, 5, 6, 0, 0.75)
    (tmp_path / "a.ply").write_bytes("\r\n".join(header).encode() + before + points + after)
    labelled = Labelled(np.array([1, 0], np.uint8), np.float32([0.5, 0.75]), {0: "a", 1: "b"})
    head, _, body = copy(tmp_path / "a.ply", labelled).read_bytes().partition(b"end_header\r\n")
    assert body == before + wanted + after
    assert head.count(b"\r\n") == head.count(b"\n") == len(header) - 2 + 4


def test_what_cannot_be_written(tmp_path: Path) -> None:
    header = "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\n"
    path, one = tmp_path / "a.ply", Labelled(np.zeros(1, np.uint8), np.zeros(1, np.float32), {0: "a"})
    path.write_text(header + "property list uchar int near\nend_header\n0 0 0 1 5\n")
    with pytest.raises(DataError, match="a vertex property is a list"):
        write_ply(parse_ply(path), BytesIO(), one)
    path.write_text(header + "end_header\n0\n0 0\n")
    with pytest.raises(DataError, match="vertex 1: expected one line of 3 numbers, got 1"):
        write_ply(parse_ply(path), BytesIO(), one)
    path.write_text(header + "end_header\n0 0 0\n")
    with pytest.raises(DataError, match=r"labels: expected one per point \(1\), got 40"):
        write_ply(parse_ply(path), BytesIO(), LABELLED)
    path.write_text(header + "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n3 0 0 0\n")
    with pytest.raises(DataError, match="a mesh has no points to label"):
        write_ply(parse_ply(path), BytesIO(), one)
