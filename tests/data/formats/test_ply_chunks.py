"""Large PLY clouds in pieces: the same fields, and the same bytes when they are written."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from helpers.scans import CLASSES, COUNT, write_example

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.labelled import Labelled
from sampled_transformer.data.formats.ply import parse_ply
from sampled_transformer.data.formats.ply_chunks import PlyCopy, ply_chunks, ply_rows
from sampled_transformer.data.formats.write_ply import write_ply

LABELS = np.arange(COUNT, dtype=np.uint8) % len(CLASSES)
CONFIDENCE = np.linspace(0, 1, COUNT, dtype=np.float32)


@pytest.mark.parametrize("kind", ["ply-little", "ply-big"])
@pytest.mark.parametrize("size", [1, 7, COUNT, 1000])
def test_pieces_are_the_whole(tmp_path: Path, kind: str, size: int) -> None:
    path = write_example(tmp_path, kind)
    rows = ply_rows(path)
    assert rows is not None
    pieces = list(ply_chunks(path, rows, size))
    for name, values in parse_ply(path).vertex_columns().items():
        np.testing.assert_array_equal(np.concatenate([piece[name] for piece in pieces]), values)


@pytest.mark.parametrize("kind", ["ply-little", "ply-big"])
@pytest.mark.parametrize("coloured", [False, True])
def test_a_copy_has_the_bytes_of_the_whole(tmp_path: Path, kind: str, coloured: bool) -> None:
    path = write_example(tmp_path, kind)
    path.write_bytes(path.read_bytes() + b"and something after the vertices")
    classes = dict(enumerate(CLASSES))
    whole, pieces = io.BytesIO(), io.BytesIO()
    write_ply(parse_ply(path), whole, Labelled(LABELS, CONFIDENCE, classes, coloured))
    rows = ply_rows(path)
    assert rows is not None
    with PlyCopy(path, rows, pieces, classes, coloured) as copy:
        for begin in range(0, COUNT, 9):
            copy.write(LABELS[begin : begin + 9], CONFIDENCE[begin : begin + 9])
        copy.finish()
    assert pieces.getvalue() == whole.getvalue()


def test_a_number_of_labels_that_does_not_fit(tmp_path: Path) -> None:
    path = write_example(tmp_path, "ply-little")
    rows = ply_rows(path)
    assert rows is not None
    with PlyCopy(path, rows, io.BytesIO(), dict(enumerate(CLASSES)), False) as copy:
        copy.write(LABELS[:5], CONFIDENCE[:5])
        with pytest.raises(DataError, match=f"labels: expected one per point \\({COUNT}\\), got 5"):
            copy.finish()
        with pytest.raises(DataError, match="got more"):
            copy.write(LABELS, CONFIDENCE)


LITTLE, XYZ = "format binary_little_endian 1.0\n", "property float x\nproperty float y\nproperty float z\n"
FACE = "element face 1\nproperty list uchar int vertex_indices\n"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (f"format ascii 1.0\nelement vertex 1\n{XYZ}", b"0 0 0\n"),
        (
            f"{LITTLE}element vertex 3\n{XYZ}{FACE}",
            bytes(36) + b"\3" + bytes(12),
        ),
        (
            f"{LITTLE}element vertex 9\n{XYZ}",
            b"",
        ),
        (f"{LITTLE}element vertex 1\nproperty float x\nproperty float y\n", bytes(8)),
        (
            f"{LITTLE}element vertex 0\n{XYZ}",
            b"",
        ),
        (f"{LITTLE}element vertex 1\nproperty list uchar float x\n", b"\0"),
        ("nonsense\n", b""),
    ],
)
def test_other_files_are_for_the_whole_reader(tmp_path: Path, head: str, body: bytes) -> None:
    path = tmp_path / "a.ply"
    path.write_bytes(f"ply\n{head}end_header\n".encode() + body)
    assert ply_rows(path) is None
    path.write_bytes(b"no ply at all")
    assert ply_rows(path) is None
