from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import READERS
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.view.reader import Reading, _bounded, read_apart, read_upload

CUBE = b"OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 3\n"


def test_an_upload_is_read_by_its_ending() -> None:
    raw = read_upload("../../chair.OFF", CUBE).raw
    assert isinstance(raw, Mesh)
    assert raw.faces.tolist() == [[0, 1, 2], [0, 1, 3]]


def test_messages_name_the_file_of_the_visitor() -> None:
    with pytest.raises(DataError, match=r"^broken\.off: ") as error:
        read_upload("broken.off", b"OFF\n9 9 9\n")
    assert "/tmp" not in str(error.value)
    with pytest.raises(DataError, match=r"^page\.html: unknown format '\.html'; known formats: \.off"):
        read_upload("page.html", b"<html>")
    with pytest.raises(DataError, match=r"^empty\.ply: empty file"):
        read_upload("empty.ply", b"")


def test_a_large_cloud_is_thinned_and_says_so() -> None:
    points = np.random.default_rng(0).normal(size=(500, 3))
    text = "\n".join(" ".join(map(str, row)) for row in points).encode()
    reading = read_upload("cloud.xyz", text, most=100)
    assert reading.raw[0].shape == (100, 3)
    assert reading.notes == ("100 of 500 points, drawn at random",)
    rows = [int(np.abs(points - row).sum(1).argmin()) for row in reading.raw[0]]
    assert len(set(rows)) == 100


def test_a_mesh_with_too_many_faces_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(_bounded.__globals__, "MOST_FACES", 1)
    with pytest.raises(DataError, match="expected at most 1 faces, got 2"):
        _bounded(Reading(Mesh(np.eye(3), np.array([[0, 1, 2], [0, 1, 2]]))), 100)


def test_points_of_the_plane_are_read_for_clustering() -> None:
    reading = read_upload("points.csv", b"x,y\n1,2\n3,4\n5,7\n", dimension=2)
    assert reading.raw[0].tolist() == [[1, 2], [3, 4], [5, 7]]
    with pytest.raises(DataError, match=r"^points\.csv: expected 2 numbers per point"):
        read_upload("points.csv", b"1,2,3\n4,5,6\n", dimension=2)


@pytest.mark.skipif(os.name != "posix", reason="it sends a signal")
def test_a_reader_that_dies_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The worker imports this file, too, and finds the reader below by its module.
    path = tmp_path / "deadly.off"
    path.write_bytes(CUBE)
    monkeypatch.setitem(read_apart.__globals__, "_read", _die)
    with pytest.raises(DataError, match=r"deadly\.off: the process that read it died \(signal 9\)"):
        read_apart(path)
    monkeypatch.undo()
    assert read_apart(path).raw[0].shape == (4, 3)


def _die(path: Path, most: int, dimension: int, scan: bool) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_all_formats_may_be_uploaded() -> None:
    assert {".off", ".ply", ".obj", ".stl", ".glb", ".npy", ".npz", ".las", ".csv"} <= set(READERS)


def test_labels_and_features_of_a_scan_are_thinned_with_its_points() -> None:
    rows = "\n".join(f"{number} {number % 3} 0 {number % 2} {number / 10}" for number in range(50))
    reading = read_upload("scan.txt", f"x y z label intensity\n{rows}".encode(), most=20, scan=True)
    assert reading.labels is not None
    assert reading.features is not None
    numbers = reading.raw[0][:, 0]
    assert len(numbers) == 20
    assert reading.labels.tolist() == (numbers % 2).tolist()
    assert np.allclose(reading.features["intensity"], numbers / 10)
    assert read_upload("scan.txt", f"x y z label intensity\n{rows}".encode()).labels is None
