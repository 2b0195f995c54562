"""Making the embedded part of brick-parts: which parts are chosen, and that the written file reads back."""

import numpy as np
import pytest

from sampled_transformer.data import DataError, Pack, write_pack
from sampled_transformer.data.sources.brick_parts import load, read_coded
from sampled_transformer_lab.brick_parts import PARTS, RARE, choose, make, write_coded

CLASSES = ("body", "stud", *RARE)


def whole(sets: int, seed: int = 0) -> Pack:
    """Parts of 50 points; every fifth has some points of a rare class."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, (sets, 50))
    labels[::5, :3] = 2 + np.arange(len(labels[::5]))[:, None] % len(RARE)
    points = random.normal(size=(sets, 50, 3))
    names = [f"part {number}" for number in range(sets)]
    return Pack.from_arrays(points, normals=points, names=names, point_labels=labels, point_classes=CLASSES)


def test_rare_classes_come_first_and_a_seed_fixes_the_rest():
    pack = whole(100)
    chosen = choose(pack, 40)
    assert len(set(chosen.tolist())) == 40
    assert set(range(0, 100, 5)) <= set(chosen.tolist())
    assert chosen.tolist() == sorted(chosen.tolist()) == choose(pack, 40).tolist()
    assert choose(pack, 40, seed=1).tolist() != chosen.tolist()
    assert len(choose(pack, 500)) == 100
    assert not set(range(0, 100, 5)) <= set(choose(pack, 40, preferred=()).tolist())
    with pytest.raises(DataError, match="pack: expected point_labels, got none"):
        choose(Pack(pack.points), 5)


def test_files_read_back(tmp_path):
    pack = whole(6)
    write_coded(pack, tmp_path / "a.npz")
    back = read_coded(tmp_path / "a.npz")
    assert back.names.tolist() == pack.names.tolist()
    assert back.point_classes == pack.point_classes
    assert np.bincount(back.point_labels.ravel()).tolist() == np.bincount(pack.point_labels.ravel()).tolist()
    first = (tmp_path / "a.npz").read_bytes()
    write_coded(pack, tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == first
    with pytest.raises(DataError, match="pack: expected normals, point_labels and names"):
        write_coded(Pack(pack.points), tmp_path / "b.npz")


def test_both_splits_are_made(tmp_path):
    for seed, split in enumerate(("train", "test")):
        write_pack(whole(20, seed), tmp_path / "whole" / f"{split}.npz")
    make(tmp_path / "whole", tmp_path / "made", {"train": 7, "test": 9}, points=30)
    assert read_coded(tmp_path / "made" / "train.npz").points.shape == (7, 30, 3)
    assert read_coded(tmp_path / "made" / "test.npz").points.shape == (9, 30, 3)


def test_the_shipped_parts_are_as_many_as_stated():
    assert {split: len(load(None, split)) for split in PARTS} == PARTS
