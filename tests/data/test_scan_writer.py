"""write_scan: every format comes back with the same points and fields, and with its classes."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from helpers.scans import CLASSES, COUNT, ENDINGS, write_example

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.scan_writer import ScanWriter, write_scan
from sampled_transformer.data.scans import iter_scan_chunks, read_scan
from sampled_transformer.support.palette import class_colours

RANDOM = np.random.default_rng(7)
LABELS = RANDOM.integers(0, 3, COUNT)
CONFIDENCE = RANDOM.uniform(0, 1, COUNT).astype(np.float32)
REPLACED = {"label", "labels"}  # the true labels are features where we ask for the classes


@pytest.mark.parametrize("kind", ENDINGS)
def test_points_fields_and_order_stay_and_classes_come_back(tmp_path: Path, kind: str) -> None:
    source = write_example(tmp_path, kind)
    before = read_scan(source)
    suffix = {".npy": ".npz"}.get(source.suffix, source.suffix)
    written = write_scan(source, tmp_path / f"out{suffix}", LABELS, CONFIDENCE, CLASSES)
    assert written.path == tmp_path / f"out{suffix}"
    name = {".npz": "point_labels", ".npy": "point_labels", ".las": None, ".laz": None}.get(source.suffix, "class")
    columns = None
    if kind == "txt-unnamed":
        columns = ["x", "y", "z", *before.features, "class", "confidence"]
    after = read_scan(written.path, columns, label=name)
    np.testing.assert_array_equal(after.points, before.points)
    np.testing.assert_array_equal(after.labels, LABELS)
    np.testing.assert_array_equal(after.features.pop("confidence").astype(np.float32), CONFIDENCE)
    for feature, values in before.features.items():
        np.testing.assert_array_equal(after.features[feature], values, err_msg=feature)
    assert after.features.keys() - before.features.keys() <= REPLACED
    if before.normals is not None:
        np.testing.assert_array_equal(after.normals, before.normals)
    if source.suffix not in (".txt", ".csv"):
        assert after.classes == dict(enumerate(CLASSES))
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("size", [7, COUNT])
@pytest.mark.parametrize("kind", ["laz-3", "las-6", "ply-little", "npz"])
def test_in_pieces_as_they_are_read(tmp_path: Path, kind: str, size: int) -> None:
    source = write_example(tmp_path, kind)
    out, whole = (tmp_path / f"{name}{source.suffix}" for name in ("pieces", "whole"))
    with ScanWriter(source, out, CLASSES) as writer:
        done = 0
        for piece in iter_scan_chunks(source, size):
            rows = slice(done, done + len(piece))
            writer.write(LABELS[rows], CONFIDENCE[rows])
            done += len(piece)
        assert not out.exists()
    write_scan(source, whole, LABELS, CONFIDENCE, CLASSES)
    assert out.read_bytes() == whole.read_bytes()


def test_class_numbers_with_names_need_not_begin_at_zero(tmp_path: Path) -> None:
    source = write_example(tmp_path, "las-3")
    labels = np.array([2, 6, 9])[LABELS]
    out = write_scan(source, tmp_path / "out.laz", labels, CONFIDENCE, {2: "ground", 6: "building", 9: "water"}).path
    scan = read_scan(out)
    np.testing.assert_array_equal(scan.labels, labels)
    assert scan.classes == {2: "ground", 6: "building", 9: "water"}


def test_npy_becomes_npz_and_says_so(tmp_path: Path) -> None:
    source = write_example(tmp_path, "npy-table")
    written = write_scan(source, tmp_path / "out.npy", LABELS, CONFIDENCE, CLASSES)
    assert written == (tmp_path / "out.npz", ("written as out.npz, since .npy has no room for classes",))
    assert written.path.is_file()


def test_semantic_kitti_gets_a_label_file_and_confidences(tmp_path: Path) -> None:
    table = np.random.default_rng(0).normal(size=(COUNT, 4)).astype(np.float32)
    table.tofile(tmp_path / "000.bin")
    (tmp_path / "predictions").mkdir()
    written = write_scan(tmp_path / "000.bin", tmp_path / "predictions" / "000.bin", LABELS, CONFIDENCE, CLASSES)
    assert written.path == tmp_path / "predictions" / "000.label"
    assert written.notes == ("written as 000.label, since .bin has no room for classes",)
    np.testing.assert_array_equal(np.fromfile(written.path, "<u4"), LABELS)
    np.testing.assert_array_equal(np.load(tmp_path / "predictions" / "000.confidence.npy"), CONFIDENCE)
    (tmp_path / "labels").mkdir()
    truth = tmp_path / "labels" / "000.label"
    LABELS.astype("<u4").tofile(truth)
    with pytest.raises(ValueError, match="out: expected another file than the scan and its labels"):
        write_scan(tmp_path / "000.bin", truth, LABELS, CONFIDENCE, CLASSES)


@pytest.mark.parametrize(("kind", "has_room"), [("ply-ascii", True), ("laz-7", True), ("npz", False), ("las-6", False)])
def test_coloured(tmp_path: Path, kind: str, has_room: bool) -> None:
    source = write_example(tmp_path, kind)
    written = write_scan(source, tmp_path / f"out{source.suffix}", LABELS, CONFIDENCE, CLASSES, coloured=True)
    if has_room:
        colour = read_scan(written.path).features["colour"]
        np.testing.assert_allclose(colour, class_colours(LABELS) / 255, atol=1e-6)
        assert written.notes == ()
    else:
        assert written.notes[0].startswith("not coloured: ")


@pytest.mark.parametrize("kind", ["las-3", "laz-6", "ply-ascii", "pcd-binary", "csv-heading", "npz", "npy-table"])
@pytest.mark.parametrize("count", [0, COUNT - 1, COUNT + 1])
def test_a_wrong_number_of_labels_leaves_nothing_behind(tmp_path: Path, kind: str, count: int) -> None:
    source = write_example(tmp_path, kind)
    out = tmp_path / f"out{'.npz' if source.suffix == '.npy' else source.suffix}"
    with pytest.raises(DataError, match=r"labels: expected one per point \(40\), got (0|39|41|more)") as error:
        write_scan(source, out, np.resize(LABELS, count), np.resize(CONFIDENCE, count), CLASSES)
    assert str(error.value).startswith(f"{source}: ")
    assert sorted(tmp_path.iterdir()) == [source]


def test_an_error_in_the_block_leaves_what_was_there(tmp_path: Path) -> None:
    for kind in ("laz-3", "ply-big"):
        source = write_example(tmp_path, kind)
        out = tmp_path / f"out{source.suffix}"
        out.write_text("older")
        with contextlib.suppress(ZeroDivisionError), ScanWriter(source, out, CLASSES) as writer:
            writer.write(LABELS, CONFIDENCE)
            raise ZeroDivisionError
        assert out.read_text() == "older"
        assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("labels", "confidence", "message"),
    [
        (LABELS[:, None], CONFIDENCE, r"labels: expected integers of shape \(n,\)"),
        (LABELS.astype(float), CONFIDENCE, "labels: expected integers"),
        (LABELS, CONFIDENCE[1:], r"confidence: expected floats of shape \(40,\), as labels, got float32 \(39,\)"),
        (LABELS, LABELS, "confidence: expected floats"),
        (LABELS + 1, CONFIDENCE, "labels: expected numbers of classes, got 3, which has no name"),
        (LABELS - 1, CONFIDENCE, "labels: expected numbers of classes, got -1, which has no name"),
    ],
)
def test_bad_labels(tmp_path: Path, labels: np.ndarray, confidence: np.ndarray, message: str) -> None:
    source = write_example(tmp_path, "las-3")
    with pytest.raises(ValueError, match=message):
        write_scan(source, tmp_path / "out.las", labels, confidence, CLASSES)
    assert sorted(tmp_path.iterdir()) == [source]


def test_places_where_nothing_may_be_written(tmp_path: Path) -> None:
    source = write_example(tmp_path, "ply-ascii")
    (tmp_path / "link.ply").symlink_to(source)
    for out, message in (
        (source, "out: expected another file than the scan"),
        (tmp_path / "link.ply", "out: expected another file than the scan"),
        (tmp_path / "no" / "out.ply", "out: expected a file in an existing folder"),
        (tmp_path / "out.las", "out: expected a file name ending in .ply"),
    ):
        with pytest.raises(ValueError, match=message):
            write_scan(source, out, LABELS, CONFIDENCE, CLASSES)
    with pytest.raises(ValueError, match=r"source: expected a scan as \.las \.laz"):
        write_scan(tmp_path / "a.obj", tmp_path / "b.obj", LABELS, CONFIDENCE, CLASSES)
    with pytest.raises(DataError, match=r"a\.ply: No such file"):
        write_scan(tmp_path / "a.ply", tmp_path / "b.ply", LABELS, CONFIDENCE, CLASSES)
    for classes in ((), {-1: "a"}):
        with pytest.raises(ValueError, match="classes: expected names by number from 0 on"):
            write_scan(source, tmp_path / "b.ply", LABELS, CONFIDENCE, classes)


def test_a_damaged_source_is_named(tmp_path: Path) -> None:
    source = write_example(tmp_path, "laz-6")
    source.write_bytes(source.read_bytes()[:-50])
    with pytest.raises(DataError, match=r"scan\.laz: damaged or truncated"):
        write_scan(source, tmp_path / "out.laz", LABELS, CONFIDENCE, CLASSES)
    assert sorted(tmp_path.iterdir()) == [source]


@pytest.mark.parametrize("kind", ["ply-ascii", "pcd-binary", "laz-6", "npz"])
def test_class_names_may_have_any_letters(tmp_path: Path, kind: str) -> None:
    source = write_example(tmp_path, kind)
    names = {0: "Gebäude", 1: "end_header", 2: "木 und Strauch"}
    out = write_scan(source, tmp_path / f"out{source.suffix}", LABELS, CONFIDENCE, names).path
    assert read_scan(out).classes == names


def test_writing_needs_the_block(tmp_path: Path) -> None:
    writer = ScanWriter(write_example(tmp_path, "npz"), tmp_path / "out.npz", CLASSES)
    with pytest.raises(ValueError, match="write: expected a with block around it, got none"):
        writer.write(LABELS, CONFIDENCE)
