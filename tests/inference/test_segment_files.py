"""Files that come back with a class and a confidence per point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import laspy
import numpy as np
import pytest
from helpers.point_packs import CLASSES, save_segmenter
from helpers.scans import COUNT, write_example

from sampled_transformer.data.axes import turn
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.scans import read_scan
from sampled_transformer.inference import segment_files, segmentation
from sampled_transformer.inference.segment_files import Labelled, SegmentQuestion, label_file, scan_features
from sampled_transformer.inference.segmentation import Points, check_features, label_points, point_view_of
from sampled_transformer.support import workspace
from sampled_transformer.training.point_loading import PointView
from sampled_transformer.weights import load_model

SCENE = {"part": "crop", "size": "kept"}


def ask(
    folder: Path, source: Path, view: dict[str, Any] | None = None, options: Any = None, **question: Any
) -> tuple[Labelled, Any, PointView]:
    network, description = load_model(save_segmenter(folder / "w.safetensors", view, **(options or {})))
    own = point_view_of(description, "w")
    (folder / "out").mkdir(exist_ok=True)
    out = folder / "out" / source.with_suffix({".npy": ".npz"}.get(source.suffix, source.suffix)).name
    told: list[int] = []
    question = SegmentQuestion("w", **question)
    answer = label_file(network, own, CLASSES, source, out, question, told.append, lambda count: told.insert(0, -count))
    assert told[0] == -answer.points  # the number of points comes first
    assert sum(told[1:]) >= answer.points
    return answer, network, own


@pytest.mark.parametrize("kind", ["ply-ascii", "ply-little", "las-3", "laz-6", "txt-comment", "csv-heading", "npz"])
@pytest.mark.parametrize("view", [{}, SCENE])
def test_the_same_points_come_back_with_their_labels(tmp_path: Path, kind: str, view: dict[str, Any]) -> None:
    source = write_example(tmp_path, kind)
    before = read_scan(source)
    options = {"features": {"intensity": 1}, "positions": "z"}
    answer, network, own = ask(tmp_path, source, view, options)
    name = {".npz": "point_labels", ".las": None, ".laz": None}.get(source.suffix, "class")
    after = read_scan(answer.out, label=name)
    np.testing.assert_array_equal(after.points, before.points)
    found, _ = check_features(own, scan_features(before, own, {}, None), COUNT)
    labels, confidence = label_points(network, own, Points(before.points, found))
    np.testing.assert_array_equal(after.labels, labels)
    np.testing.assert_allclose(after.features["confidence"], confidence, rtol=1e-6)
    np.testing.assert_array_equal(after.features["intensity"], before.features["intensity"])
    assert answer.points == COUNT == sum(answer.classes.values())
    assert answer.confidence == pytest.approx(confidence.mean())


def large_las(path: Path, count: int = 3000) -> np.ndarray:
    generator = np.random.default_rng(0)
    points = (generator.uniform((0, 0, 0), (30, 30, 2), (count, 3)) + np.array([5e5, 5.4e6, 300])).round(2)
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.offsets, header.scales = [5e5, 5.4e6, 0], [0.01] * 3
    las = laspy.LasData(header)
    las.x, las.y, las.z = points.T
    las.intensity = generator.integers(0, 1000, count)
    las.red, las.green, las.blue = generator.integers(0, 65536, (3, count))
    las.write(path)
    return points


@pytest.mark.parametrize("up", [None, "y"])
def test_a_file_larger_than_memory_gets_the_same_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, up: str | None
) -> None:
    source = tmp_path / "scan.las"
    large_las(source)
    options = {"features": {"intensity": 1, "colour": 3}, "positions": "z"}
    ask(tmp_path, source, SCENE, options, up=up)
    whole = read_scan(tmp_path / "out" / "scan.las")
    seen: list[str] = []
    mapped = segment_files._mapped

    def note(path: Path, *others: Any) -> Any:
        seen.append(path.name)
        return mapped(path, *others)

    monkeypatch.setattr(segment_files, "_mapped", note)
    monkeypatch.setattr(segment_files, "BYTES_IN_MEMORY", 1e7)
    answer, _, _ = ask(tmp_path, source, SCENE, options, up=up)
    assert seen == ["scan.las"]
    pieces = read_scan(answer.out)
    np.testing.assert_array_equal(pieces.points, whole.points)
    np.testing.assert_array_equal(pieces.labels, whole.labels)
    # In tiles, too: without attention nothing but the estimated spacing differs.
    monkeypatch.setattr(segment_files, "most_points", lambda memory: 1500)
    answer, _, _ = ask(tmp_path, source, SCENE, options, up=up)
    assert (read_scan(answer.out).labels == whole.labels).mean() > 0.9
    monkeypatch.setattr(segmentation, "_sampled_spacing", lambda positions, most: segmentation.scene_spacing(positions))
    answer, _, _ = ask(tmp_path, source, SCENE, options, up=up)
    assert (read_scan(answer.out).labels == whole.labels).mean() > 0.99


@pytest.mark.parametrize("view", [{"points": 128}, SCENE])
def test_large_ply_files_and_networks_of_shapes_get_the_same_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: dict[str, Any]
) -> None:
    points = large_las(tmp_path / "scan.las")
    rows = np.zeros(len(points), [("x", "<f8"), ("y", "<f8"), ("z", "<f8"), ("intensity", "<f4")])
    for number, name in enumerate("xyz"):
        rows[name] = points[:, number]
    rows["intensity"] = laspy.read(tmp_path / "scan.las").intensity
    head = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(rows)}\n"
    head += "".join(f"property double {name}\n" for name in "xyz") + "property float intensity\nend_header\n"
    (tmp_path / "scan.ply").write_bytes(head.encode() + rows.tobytes())
    options = {"features": {"intensity": 1}, "positions": "z"}
    answers = []
    for large in (False, True):
        if large:
            monkeypatch.setattr(segment_files, "BYTES_IN_MEMORY", 1e7)
            monkeypatch.setattr(workspace, "SLICE", 1000)
            monkeypatch.setattr(segment_files, "read_scan", None)  # nobody may read the file as a whole
        for source in ("scan.ply", "scan.las"):
            answer, _, _ = ask(tmp_path, tmp_path / source, view, options)
            answers.append(read_scan(answer.out, label="class" if source == "scan.ply" else None).labels)
    for one in answers[1:]:
        np.testing.assert_array_equal(one, answers[0])


def test_features_come_from_the_fields_that_are_named(tmp_path: Path) -> None:
    scan = read_scan(write_example(tmp_path, "ply-little"))
    view = PointView(64, features={"height": 1, "normals": 3}, optional=("normals",))
    assert list(scan_features(scan, view, {}, None)) == ["normals"]
    found = scan_features(scan, view, {"height": "intensity", "normals": ""}, None)
    assert list(found) == ["height"]
    np.testing.assert_array_equal(found["height"], scan.features["intensity"])
    np.testing.assert_array_equal(scan_features(scan, view, {}, "y")["normals"], turn(scan.normals, "y"))
    with pytest.raises(DataError, match=r"features: expected one of the fields of the file \(.*\), got 'amplitude'"):
        scan_features(scan, view, {"height": "amplitude"}, None)


@pytest.mark.parametrize("large", [False, True])
def test_missing_features_are_told_or_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    source = tmp_path / "scan.las"
    large_las(source, 200)
    if large:
        monkeypatch.setattr(segment_files, "BYTES_IN_MEMORY", 1e9)
    options = {"features": {"intensity": 1, "velocity": 1}, "optional": ["velocity"], "positions": "z"}
    answer, _, _ = ask(tmp_path, source, SCENE, options)
    assert any(note.startswith("no velocity: labels may be far worse") for note in answer.notes)
    with pytest.raises(DataError, match=r"features: expected velocity \(1 numbers per point\), got intensity"):
        ask(tmp_path, source, SCENE, {**options, "optional": []})
    for feature, width in (("colour", 3), ("intensity", 1)):
        with pytest.raises(DataError, match=rf"velocity: expected the shape \(200, 2\), got \(200, {width}\)"):
            ask(tmp_path, source, SCENE, {"features": {"velocity": 2}}, features={"velocity": feature})


def test_the_axis_that_is_up_is_turned(tmp_path: Path) -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (60, 3))
    np.savetxt(tmp_path / "z.txt", points, fmt="%.17g")
    np.savetxt(tmp_path / "y.txt", turn(points, "z", "y"), fmt="%.17g")
    options = {"positions": "z"}
    first, _, _ = ask(tmp_path, tmp_path / "z.txt", {}, options)
    second, _, _ = ask(tmp_path, tmp_path / "y.txt", {}, options, up="y")
    columns = ["x", "y", "z", "class", "confidence"]
    one, other = (read_scan(answer.out, columns, label="class") for answer in (first, second))
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_allclose(turn(other.points, "y"), one.points)


def test_broken_files_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.ply").write_bytes(b"")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "nan.txt").write_text("1 2 3\nnan 1 1\n")
    (tmp_path / "none.las").write_bytes(write_example(tmp_path, "las-3").read_bytes()[:100])
    laspy.LasData(laspy.LasHeader(point_format=3, version="1.2")).write(tmp_path / "zero.las")
    for name in ("empty.ply", "empty.txt", "nan.txt", "none.las", "zero.las"):
        for view in ({}, SCENE):
            with pytest.raises(DataError) as raised:
                ask(tmp_path, tmp_path / name, view)
            assert "\n" not in str(raised.value)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_file_that_says_more_than_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "scan.las"
    large_las(source, 100)
    monkeypatch.setattr(segment_files, "BYTES_IN_MEMORY", 1e9)
    for count, got in ((120, "got 100"), (80, "got more")):
        monkeypatch.setattr(segment_files, "streamed_count", lambda path, count=count: count)
        with pytest.raises(DataError, match=rf"points: expected {count}, as the header says, {got}"):
            ask(tmp_path, source, SCENE)


@pytest.mark.parametrize(
    ("kind", "classes", "numbers"),
    [
        ("las-3", ("ground", "building"), [2, 6]),
        ("laz-6", ("ground", "class 70"), [2, 70]),
        ("ply-ascii", ("class 9", "class 4"), [9, 4]),
        ("ply-little", ("ground", "building"), [0, 1]),
    ],
)
def test_classes_keep_the_numbers_that_their_names_mean(
    tmp_path: Path, kind: str, classes: tuple[str, str], numbers: list[int]
) -> None:
    network, description = load_model(save_segmenter(tmp_path / "w.safetensors"))
    source = write_example(tmp_path, kind)
    out = tmp_path / f"out{source.suffix}"
    view = point_view_of(description, "w")
    seen = label_file(network, view, classes, source, out, SegmentQuestion("w"), lambda number: None)
    after = read_scan(out, label=None if "la" in kind[:2] else "class")
    counts = {number: int((after.labels == number).sum()) for number in numbers}
    assert sum(counts.values()) == COUNT
    assert {after.classes[number]: count for number, count in counts.items() if count} == seen.classes
    assert {number: after.classes[number] for number in numbers} == dict(zip(numbers, classes, strict=True))


def test_a_scene_for_a_network_of_shapes_is_noted(tmp_path: Path) -> None:
    for count, view, notes in ((640, {"points": 10}, 0), (641, {"points": 10}, 1), (641, SCENE, 0)):
        np.savetxt(tmp_path / "scan.txt", np.random.default_rng(0).uniform(-1, 1, (count, 3)))
        answer, _, _ = ask(tmp_path, tmp_path / "scan.txt", view, {"positions": "z"})
        assert sum("taken for one shape: the network knows shapes of 10 points" in one for one in answer.notes) == notes
