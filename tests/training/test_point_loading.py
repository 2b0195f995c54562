"""Sets whose points have labels: splits, views and batches."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.point_packs import halves

from sampled_transformer.data import Pack, write_pack
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.point_transforms import PointAugmentation
from sampled_transformer.training.point_loading import (
    PointBatches,
    PointView,
    class_weights,
    feature_statistics,
    hold_out_sets,
    ignore_classes,
    join_sets,
    load_point_split,
    load_point_splits,
    network_inputs,
    set_of,
)
from sampled_transformer.training.segment_settings import PointDataOptions

STILL = PointAugmentation(turn="none", flip=False, scale=(1.0, 1.0))


def splits(folder: Path, ignore: list[str] | None = None, **options: Any) -> Any:
    size = options.pop("view_size", "unit")
    return load_point_splits(PointDataOptions(str(folder), **options), size, ignore or [], seed=0)


def write(folder: Path, train: Pack, test: Pack) -> Path:
    folder.mkdir()
    write_pack(train, folder / "train.npz")
    write_pack(test, folder / "test.npz")
    return folder


def test_the_view_follows_from_data_and_options(halves_folder: Path) -> None:
    view = splits(halves_folder).view
    assert view == PointView(64, "subset", "unit", {"colour": 3, "intensity": 1, "normals": 3}, (), "z")
    view = splits(halves_folder, points=32, features=["colour"], normals=False, missing=0.5).view
    assert (view.points, dict(view.features), view.optional) == (32, {"colour": 3}, ("colour",))
    assert dict(splits(halves_folder, features=[], normals=False).view.features) == {}


def test_validation_holds_out_whole_sets(halves_folder: Path) -> None:
    found = splits(halves_folder, validation=0.25)
    assert (len(found.train), len(found.validation), len(found.test)) == (9, 3, 4)
    own = {points.tobytes() for points in found.train.points}
    assert not own & {points.tobytes() for points in found.validation.points}
    with pytest.raises(DataError, match=r"data\.validation: expected at least 2 training sets to hold some out, got 1"):
        hold_out_sets(halves(1), 0.5, 0)


def bad_folders(folder: Path) -> dict[str, Path]:
    none = np.full((4, 64), -1)
    unlabelled = replace(halves(4), point_labels=None, point_classes=())
    zeros = np.zeros((4, 64), np.int16)
    return {
        "other classes": write(folder / "a", halves(4), halves(4, point_classes=("high", "low"))),
        "no labels": write(folder / "b", unlabelled, unlabelled),
        "all ignored": write(folder / "c", halves(4, point_labels=none), halves(4)),
        "one class": write(folder / "d", halves(4, point_labels=zeros), halves(4)),
        "test ignored": write(folder / "e", halves(4), halves(4, point_labels=none)),
    }


def test_data_that_cannot_be_trained_on_is_refused(tmp_path: Path) -> None:
    messages = {
        "other classes": "expected the same point classes in the train and test splits, got low, high and high, low",
        "no labels": "train split: expected point_labels, the class of every point, got none",
        "all ignored": "train split: point_labels: expected at least 1 point with a class, got 256 points to ignore",
        "one class": "expected training points of at least 2 classes, got 1",
        "test ignored": "test split: point_labels: expected at least 1 point with a class, got 256 points to ignore",
    }
    for name, folder in bad_folders(tmp_path).items():
        with pytest.raises(DataError) as raised:
            splits(folder)
        between = ", " if " split: " in messages[name] else ": "
        assert str(raised.value) == f"{folder}{between}{messages[name]}"


def test_a_class_without_training_points_is_warned_about(tmp_path: Path) -> None:
    classes = ("low", "high", "other")
    train, test = (replace(halves(4, seed=seed), point_classes=classes) for seed in (0, 1))
    other = test.point_labels.copy()
    other[0, :5] = 2
    folder = write(tmp_path / "seen", train, test)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        splits(folder)
    folder = write(tmp_path / "unseen", train, replace(test, point_labels=other))
    with pytest.warns(UserWarning, match=r"expected training points of every class .*, got none of other"):
        splits(folder)


def test_features_of_another_width_in_the_test_split_are_refused(tmp_path: Path) -> None:
    train, test = (replace(halves(4), features={"echo": np.ones((4, 64, width), np.float32)}) for width in (2, 3))
    folder = write(tmp_path / "widths", train, test)
    with pytest.raises(DataError, match=r"feature_echo: expected 2 numbers per point in the test split, .* got 3"):
        splits(folder)


def test_options_that_the_data_cannot_meet_are_refused(halves_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data\.points: expected at most 64, the points of the largest set, got 65"):
        splits(halves_folder, points=65)
    with pytest.raises(ValueError, match=r"data\.features: expected one of .*got 'color'; did you mean 'colour'"):
        splits(halves_folder, features=["color"])
    with pytest.raises(ValueError, match=r"loss\.ignore: expected one of .*got 'hihg'"):
        splits(halves_folder, ignore=["hihg"])
    with pytest.raises(DataError, match="expected training points of at least 2 classes, got 1"):
        splits(halves_folder, ignore=["high"])
    with pytest.raises(DataError, match="point_labels: expected at least 1 point with a class"):
        splits(halves_folder, ignore=["high", "low"])
    plain = write(tmp_path / "p", halves(3, normals=None), halves(3, normals=None))
    with pytest.raises(DataError, match="expected normals, got none"):
        splits(plain, normals=True)
    assert "normals" not in splits(plain).view.features


def test_classes_to_ignore_leave_the_test_split_something_to_count(tmp_path: Path) -> None:
    three = ("low", "high", "odd")
    folder = write(
        tmp_path / "p",
        halves(4, point_classes=three),
        halves(2, point_classes=three, point_labels=np.full((2, 64), 2)),
    )
    assert splits(folder).test is not None
    with pytest.raises(DataError, match="point_labels: expected at least 1 point with a class, got 128 points"):
        splits(folder, ignore=["odd"])


def test_ignored_classes_become_minus_one() -> None:
    pack = halves(3)
    found = ignore_classes(pack, ["high"])
    assert ((found.point_labels == -1) == (pack.point_labels == 1)).all()
    assert (found.point_labels[pack.point_labels == 0] == 0).all()
    assert ignore_classes(pack, []) is pack


def test_places() -> None:
    points = np.random.default_rng(0).uniform(0, 3, (50, 3)) + np.array([5e5, 5.4e6, 300])
    unit = PointView(50).place(points)
    assert np.abs(unit.mean(0)).max() < 1e-8
    assert np.linalg.norm(unit, axis=1).max() == pytest.approx(1)
    np.testing.assert_allclose(PointView(50).place(points * 1000), unit, atol=1e-9)
    kept = PointView(50, size="kept").place(points)
    np.testing.assert_allclose(kept[1:] - kept[:-1], points[1:] - points[:-1], atol=1e-8)
    assert kept[:, 2].min() == 0
    np.testing.assert_allclose(kept[:, :2].min(0), -kept[:, :2].max(0))
    for size in ("unit", "kept"):
        assert PointView(5, size=size).place(np.zeros((0, 3))).shape == (0, 3)
        assert np.isfinite(PointView(5, size=size).place(np.full((3, 3), 7.0))).all()


@pytest.mark.parametrize("ragged", [False, True])
def test_one_set_as_the_network_sees_it(ragged: bool) -> None:
    pack = halves(3, ragged=ragged, keep_size=True)
    one = set_of(pack, 1, PointView(64, features={"colour": 3, "normals": 3}))
    n = int(pack.counts()[1])
    assert one.points.shape == one.normals.shape == one.features["colour"].shape == (n, 3)
    assert one.features["intensity"].shape == (n, 1)
    assert one.point_labels.shape == (n,)
    assert one.ptr.tolist() == [0, n]
    assert torch.equal(one.point_labels == 1, one.features["colour"][:, 0] == 1)
    joined = join_sets([one, set_of(pack, 2, PointView(64))])
    assert joined.ptr.tolist() == [0, n, n + int(pack.counts()[2])]
    assert torch.equal(joined.points[:n], one.points)
    inputs = network_inputs(joined, PointView(64, features={"colour": 3, "normals": 3, "height": 1}))
    assert list(inputs["features"]) == ["colour", "normals"]


@pytest.mark.parametrize("ragged", [False, True])
def test_training_reads_random_parts_and_evaluation_a_fixed_one(ragged: bool) -> None:
    pack, view = halves(6, ragged=ragged), PointView(20, features={"colour": 3, "normals": 3})
    train = PointBatches(pack, view, STILL, 4, seed=0, steps=lambda: 0)
    batches = list(train)
    assert sum(len(batch.ptr) - 1 for batch in batches) == 6
    assert {int(size) for batch in batches for size in batch.ptr.diff()} == {20}
    for batch in batches:  # labels and features stay with their points
        assert torch.equal(batch.point_labels == 1, batch.features["colour"][:, 0] == 1)
        assert torch.equal(batch.point_labels == 1, batch.normals[:, 2] > 0)
    again = list(PointBatches(pack, view, STILL, 4, seed=0, steps=lambda: 0))
    assert all(torch.equal(one.points, other.points) for one, other in zip(batches, again, strict=True))
    one, other = (list(PointBatches(pack, view, STILL, 4)) for _ in range(2))
    assert all(torch.equal(a.points, b.points) for a, b in zip(one, other, strict=True))
    whole = {tuple(row) for row in set_of(pack, 0, view).points.tolist()}
    assert {tuple(row) for row in one[0].points[:20].tolist()} <= whole


def test_a_scene_is_shown_in_crops_and_evaluated_as_a_whole() -> None:
    pack = halves(2, points=200)
    view = PointView(50, "crop", "kept")
    assert sum(len(batch.ptr) - 1 for batch in PointBatches(pack, view, STILL, 3, steps=lambda: 0)) == 8
    batches = list(PointBatches(pack, view, STILL, 1))
    assert [len(batch.points) for batch in batches] == [200, 200]


def test_processes_get_equally_many_and_padding_is_ignored() -> None:
    pack, view = halves(5), PointView(64)
    shares = [list(PointBatches(pack, view, STILL, 2, rank=rank, world=2)) for rank in range(2)]
    assert [sum(len(batch.ptr) - 1 for batch in share) for share in shares] == [3, 3]
    counted = sum(int((batch.point_labels >= 0).sum()) for share in shares for batch in share)
    assert counted == 5 * 64


def test_statistics_of_features() -> None:
    pack = halves(4, ragged=True)
    mean, deviation = feature_statistics(pack, PointView(64, features={"normals": 3, "intensity": 1, "colour": 3}))
    assert set(mean) == {"intensity", "colour"}
    assert float(mean["intensity"]) == pytest.approx(float(pack.features["intensity"].mean()), rel=1e-4)
    np.testing.assert_allclose(deviation["colour"].numpy(), pack.features["colour"].std(0), rtol=1e-4)


def test_weights_of_classes() -> None:
    labels = np.array([[0] * 48 + [1] * 12 + [-1] * 4])
    pack = halves(1, point_labels=labels, point_classes=("a", "b", "never"))
    for balance in (0.0, 0.5, 1.0):
        shares = np.array([48 / 60, 12 / 60]) ** -balance
        expected = [*(shares / shares.mean()), 0.0]
        np.testing.assert_allclose(class_weights(pack, balance).numpy(), expected, rtol=1e-5)


def test_labels_of_the_wrong_range_or_length_are_refused() -> None:
    with pytest.raises(DataError, match="point_labels: expected 0 to 1, or -1 for points to ignore, got 2"):
        halves(1, point_labels=np.full((1, 64), 2))
    with pytest.raises(DataError, match="point_labels: expected one per point in every set, got other lengths"):
        halves(1, point_labels=np.zeros((1, 63), np.int64))


def test_colours_are_numbers_from_0_to_1_as_in_scans() -> None:
    pack = halves(3)
    view = PointView(64, features={"colour": 3})
    stored = replace(pack, features={"colour": (pack.features["colour"] * 200).astype(np.uint8)})
    assert set_of(stored, 0, view).features["colour"].unique().tolist() == pytest.approx([0, 200 / 255])
    plain, bytes_ = (feature_statistics(one, view) for one in (pack, stored))
    for first, second in zip(plain, bytes_, strict=True):
        np.testing.assert_allclose(second["colour"], first["colour"] * 200 / 255, rtol=1e-5)
    batch = next(iter(PointBatches(stored, view, PointAugmentation(colour_jitter=0.01), 3, 0, lambda: 0)))
    seen = batch.features["colour"].flatten()
    assert seen[batch.point_labels.repeat_interleave(3) == 1].mean() == pytest.approx(200 / 255, abs=0.01)


def test_colours_of_another_range_are_refused(tmp_path: Path) -> None:
    pack = halves(2)
    loud = replace(pack, features={"colour": pack.features["colour"] * 200})
    write_pack(loud, tmp_path / "train.npz")
    with pytest.raises(DataError, match=r"feature_colour: expected bytes, or numbers from 0 to 1, got 0 to 200"):
        load_point_split(str(tmp_path), None, "train")


def test_a_folder_of_scans_is_data(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "scan.csv").write_text("x,y,z,label\n1,2,3,4\n2,2,2,7\n")
    pack = load_point_split(str(tmp_path), None, "test")
    assert (pack.names.tolist(), pack.point_classes) == (["test/scan.csv"], ("class 4", "class 7"))
