from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
import torch
from helpers.numbers import ellipsoids

from sampled_transformer.data import DataError, Pack, write_pack
from sampled_transformer.data.transforms import Corrupt, preset
from sampled_transformer.training.loading import (
    Batches,
    choose_points,
    choose_preset,
    derive,
    hold_out,
    load_split,
    load_splits,
    refuse_normals,
)
from sampled_transformer.training.settings import DataOptions


def numbered(count: int) -> Pack:
    """A pack whose label tells which set it is."""
    pack = Pack.from_arrays(np.random.default_rng(0).normal(size=(count, 8, 3)), labels=np.arange(count))
    return replace(pack, classes=tuple(map(str, range(count))))


def batches(pack: Pack, batch: int, **options) -> Batches:
    return Batches(pack, preset("basic-strong", 4)[0], False, batch, **options)


def labels(loader: Batches) -> list[list[int]]:
    return [batch.labels.tolist() for batch in loader]


@pytest.mark.parametrize(("count", "batch"), [(10, 4), (9, 4), (3, 8), (8, 4), (65, 64), (5, 2), (3, 2), (1, 2)])
def test_an_epoch_is_every_set_once_in_batches_of_nearly_one_size(count, batch):
    loader = batches(numbered(count), batch, steps=lambda: 0)
    found = labels(loader)
    assert len(found) == len(loader)
    assert sorted(chain(*found)) == list(range(count))
    sizes = [len(one) for one in found]
    assert max(sizes) <= max(batch, 3)
    assert min(sizes) > 1 or count == 1  # one shape has no statistics
    assert max(sizes) - min(sizes) <= 1


def test_order_and_augmentation_follow_from_the_seed_and_the_step():
    pack = numbered(20)
    done = 0
    loader = batches(pack, 6, seed=3, steps=lambda: done)
    first = list(loader)
    assert all(torch.equal(one.points, two.points) for one, two in zip(first, loader, strict=True))
    assert labels(loader) != labels(batches(pack, 6, seed=4, steps=lambda: 0))
    done = 2
    rest = list(loader)
    assert len(rest) == len(loader) - 2
    assert all(torch.equal(one.points, two.points) for one, two in zip(first[2:], rest, strict=True))
    done = len(loader)
    assert labels(loader) != [batch.labels.tolist() for batch in first]


@pytest.mark.parametrize("count", [12, 13])
def test_processes_share_the_sets(count):
    pack = numbered(count)
    training = [labels(batches(pack, 4, steps=lambda: 0, rank=rank, world=2)) for rank in (0, 1)]
    assert len(training[0]) == len(training[1])
    assert set(chain(*training[0], *training[1])) == set(range(count))
    evaluation = [labels(batches(pack, 4, rank=rank, world=2)) for rank in (0, 1)]
    seen = sorted(label for label in chain(*evaluation[0], *evaluation[1]) if label >= 0)
    assert seen == list(range(count))
    assert [len(one) for one in evaluation[0]] == [len(one) for one in evaluation[1]]


def test_normals_are_left_out_unless_wanted(make_pack):
    pack = make_pack(2, 0)
    transform = preset("none", 8)[0]
    assert next(iter(Batches(pack, transform, False, 4))).normals is None
    assert next(iter(Batches(pack, transform, True, 4))).normals.shape == (3, 8, 3)


def test_held_out_part_is_stratified_and_seeded(make_pack):
    pack = make_pack(10, 0)
    train, held = hold_out(pack, 0.2, seed=1)
    assert np.bincount(held.labels).tolist() == [2, 2, 2]
    assert np.bincount(train.labels).tolist() == [8, 8, 8]
    assert not set(train.names) & set(held.names)
    assert hold_out(pack, 0.2, seed=1)[1].names.tolist() == held.names.tolist()
    assert hold_out(pack, 0.2, seed=2)[1].names.tolist() != held.names.tolist()


def test_held_out_part_never_takes_the_last_shape_of_a_class(make_pack):
    pack = make_pack(10, 0).select([0, 10, 11, 20, 21, 22])
    train, held = hold_out(pack, 0.9, seed=0)
    assert np.bincount(train.labels).tolist() == [1, 1, 1]
    assert np.bincount(held.labels, minlength=3).tolist() == [0, 1, 2]


def test_derived_seeds_differ():
    assert len({derive(0, 1, 2), derive(0, 2, 1), derive(1, 1, 2), derive(0, 1, 3)}) == 4


def test_view_of_bricks_and_of_others(pack_folder):
    view = load_splits(DataOptions("bricks"), 0).view
    assert (view.preset, view.points, view.normals) == ("bricks", 512, True)
    view = load_splits(DataOptions(str(pack_folder), normals=False), 0).view
    assert (view.preset, view.points, view.normals) == ("basic-strong", 48, False)


def test_sets_of_different_sizes_are_cut_to_the_smallest(tmp_path):
    generator = np.random.default_rng(0)
    for split in ("train", "test"):
        clouds = [generator.normal(size=(n, 3)) for n in (30, 20, 25, 40)]
        write_pack(Pack.from_arrays(clouds, labels=[0, 0, 1, 1], classes=["a", "b"]), tmp_path / f"{split}.npz")
    splits = load_splits(DataOptions(str(tmp_path)), 0)
    assert splits.view.points == 20
    assert splits.train.points.shape == (4, 20, 3)


def write(folder, train: Pack, test: Pack | None = None) -> DataOptions:
    write_pack(train, folder / "train.npz")
    write_pack(test or train, folder / "test.npz")
    return DataOptions(str(folder))


def test_data_that_cannot_be_trained_on(tmp_path, make_pack):
    pack = make_pack(4, 0)
    for bad, message in [
        (pack.select([0, 1, 2]), "expected training shapes of at least 2 classes, got 1"),
        (pack.select([0, 4, 8]), "expected more than one training shape per class"),
        (replace(pack, labels=None), "expected labelled shapes .*, got no labels"),
        (replace(pack, classes=()), "expected labelled shapes .*, got no names of classes"),
    ]:
        with pytest.raises(DataError, match=message):
            load_splits(write(tmp_path, bad, pack), 0)
    with pytest.raises(DataError, match="expected the same classes in the train and test splits, got "):
        load_splits(write(tmp_path, pack, replace(pack, classes=("x", "disc", "ball"))), 0)
    options = write(tmp_path, pack, make_pack(4, 0, normals=False))
    assert not load_splits(options, 0).view.normals
    with pytest.raises(DataError, match="expected normals, got none"):
        load_splits(replace(options, normals=True), 0)
    with pytest.raises(DataError, match=r"data.points: expected at most 48"):
        load_splits(replace(options, points=49), 0)
    with pytest.raises(ValueError, match=r"data.preset: expected one of"):
        load_splits(replace(options, preset="strong"), 0)


@pytest.mark.parametrize(("asked", "usual", "points"), [(None, 8, 8), (None, 99, 48), (16, 8, 16), (48, 8, 48)])
def test_points_that_were_asked_for_or_usual_and_stored(make_pack, asked, usual, points):
    assert choose_points(DataOptions("x", points=asked), [make_pack(2, 0), make_pack(2, 1, points=60)], usual) == points
    with pytest.raises(DataError, match=r"data\.points: expected at most 48, .*, got 49"):
        choose_points(DataOptions("x", points=49), [make_pack(2, 0)], usual)


def test_presets_that_were_asked_for_or_usual():
    assert choose_preset(DataOptions("x"), "pretrain") == "pretrain"
    assert choose_preset(DataOptions("bricks"), "pretrain") == "bricks"
    assert choose_preset(DataOptions("bricks", preset="none"), "pretrain") == "none"
    with pytest.raises(ValueError, match=r"data\.preset: expected one of .*, got 'brick'; did you mean 'bricks'\?"):
        choose_preset(DataOptions("x", preset="brick"), "pretrain")
    robust = DataOptions("x", preset="robust", corruptions={"noise": 0.5})
    assert choose_preset(robust, "pretrain") == "robust"
    for options, message in (
        (replace(robust, preset=None), r"data\.corruptions: expected the preset robust or robust-bricks"),
        (replace(robust, corruptions={"nois": 0.5}), r"data\.corruptions: expected one of .*did you mean 'noise'"),
        (replace(robust, corruptions={"noise": 2}), r"data\.corruptions\.noise: expected a share from 0 to 1, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            choose_preset(options, "pretrain")
    with pytest.raises(ValueError, match=r"data\.normals: expected false"):
        refuse_normals(DataOptions("x", normals=True))


def test_a_view_has_the_corruptions_of_its_training(pack_folder):
    mix = {"points": 0.0, "noise": [1.0, 0.5, 0.5]}
    options = DataOptions(str(pack_folder), points=24, preset="robust", corruptions=mix)
    view = load_splits(options, 0).view
    assert view.corruptions == mix
    train = view.transforms()[0]
    assert Corrupt("noise", 1.0, 0.5, 0.5) in train.transforms
    assert Corrupt("noise", 1.0, 0.5, 0.5) not in replace(view, corruptions={}).transforms()[0].transforms


def test_a_data_set_of_three_needs_the_name_of_one(tmp_path):
    with pytest.raises(
        DataError, match=r"data: expected the name of a variant, one of scanobjectnn-objbg, .*, got scanobjectnn"
    ):
        load_splits(DataOptions("scanobjectnn", str(tmp_path)), 0)


def test_class_without_training_shapes_is_told(tmp_path, make_pack):
    pack = make_pack(4, 0)
    with pytest.warns(UserWarning, match="class 'ball' has no training shape"):
        load_splits(write(tmp_path, pack.select(slice(0, 8)), pack), 0)
    with pytest.warns(UserWarning, match="2 classes have no test shape: disc, ball"):
        load_splits(write(tmp_path, pack, pack.select(slice(0, 4))), 0)


def test_clouds_of_a_folder_are_never_filled_up_with_repeats(tmp_path):
    generator = np.random.default_rng(0)
    for split in ("train", "test"):
        for number in range(3):
            for category in ("a", "b"):
                folder = tmp_path / category / split
                folder.mkdir(parents=True, exist_ok=True)
                np.savetxt(folder / f"{number}.xyz", generator.normal(size=(30 + number, 3)))
    with pytest.warns(UserWarning, match=r"0 has 30 points, so every shape is used with 30 points"):
        splits = load_splits(DataOptions(str(tmp_path)), 0)
    assert splits.view.points == 30
    assert all(len(np.unique(shape, axis=0)) == 30 for shape in splits.train.points)
    with (
        pytest.warns(UserWarning, match="has 30 points"),
        pytest.raises(DataError, match=r"data.points: expected at most 30, .*, got 31"),
    ):
        load_splits(DataOptions(str(tmp_path), points=31), 0)


def test_numbers_are_held_out_at_random():
    pack = ellipsoids(20, 0)
    train, held = hold_out(pack, 0.25, seed=1)
    assert (len(train), len(held)) == (15, 5)
    assert sorted([*train.names, *held.names]) == sorted(pack.names)
    assert hold_out(pack, 0.25, seed=2)[1].names.tolist() != held.names.tolist()


def test_numbers_are_neither_scaled_nor_shifted_by_default(numbers_folder):
    assert load_splits(DataOptions(str(numbers_folder)), 0).view.preset == "resampled"
    assert load_splits(DataOptions(str(numbers_folder), preset="bricks"), 0).view.preset == "bricks"


def test_processes_fill_up_numbers_with_nan():
    pack = ellipsoids(5, 0)
    found = [float(x) for rank in (0, 1) for one in batches(pack, 2, rank=rank, world=2) for x in one.labels]
    assert sum(math.isnan(x) for x in found) == 1
    real = sorted(x for x in found if not math.isnan(x))
    np.testing.assert_allclose(real, np.sort(pack.labels), rtol=1e-6)


def test_numbers_where_classes_are_expected(tmp_path, make_pack, numbers_folder):
    with pytest.raises(DataError, match=r"expected shapes with classes, got shapes with numbers to predict \(height"):
        load_split(str(numbers_folder), None, "train", None)
    numbers, classes = ellipsoids(12, 0), make_pack(4, 0)
    with pytest.raises(DataError, match="the same labels in the train and test splits, got numbers and classes"):
        load_splits(write(tmp_path, numbers, classes), 0)
    with pytest.raises(DataError, match="the same labels in the train and test splits, got classes and numbers"):
        load_splits(write(tmp_path, classes, numbers), 0)
    with pytest.raises(DataError, match="the same target in the train and test splits, got height in mm and width"):
        load_splits(write(tmp_path, numbers, replace(numbers, target_name="width")), 0)
