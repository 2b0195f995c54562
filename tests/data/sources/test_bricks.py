import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data import load_data, write_pack
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.pack import Pack
from sampled_transformer.data.sources.bricks import load

CARD = (files("sampled_transformer.data") / "bricks_pack" / "README.md").read_text()


@pytest.fixture(scope="module")
def packs() -> dict[str, Pack]:
    return {split: load(None, split) for split in ("train", "test")}


def test_sizes(packs: dict[str, Pack]) -> None:
    train, test = packs["train"], packs["test"]
    assert train.points.shape == train.normals.shape == (1656, 512, 3)
    assert test.points.shape == test.normals.shape == (408, 512, 3)
    assert len(train.classes) == 18
    assert train.classes == test.classes
    assert len(train.extras["descriptions"]) == 1656


def test_nothing_is_in_both_splits(packs: dict[str, Pack]) -> None:
    # Variants of a part carry its number and more after it: 4162, 4162a, 4162p01.
    numbers = [{re.match("[a-z]*[0-9]+", name).group() for name in pack.names} for pack in packs.values()]
    assert not numbers[0] & numbers[1]


def test_points_and_normals_are_what_the_format_says(packs: dict[str, Pack]) -> None:
    for pack in packs.values():
        batch = pack.batch(slice(None))
        assert batch.points.norm(dim=-1).max() < 1.002
        assert (batch.points.norm(dim=-1).amax(1) > 0.9).all()
        assert (batch.normals.norm(dim=-1) - 1).abs().max() < 0.05


@pytest.mark.parametrize("split", ["train", "test"])
def test_data_card_counts_are_true(packs: dict[str, Pack], split: str) -> None:
    column = {"train": 2, "test": 3}[split]
    rows = [line.split("|") for line in CARD.splitlines() if line.startswith("| ") and line.count("|") == 4]
    table = {row[1].strip(): row[column].strip() for row in rows}
    counts = np.bincount(packs[split].labels)
    for name, count in zip(packs[split].classes, counts, strict=True):
        assert table[name] == str(count)


def test_data_card_says_what_it_must() -> None:
    for text in ("LDraw.org Parts Library", "CC BY 4.0", "creativecommons.org/licenses/by/4.0", "scale all axes alike"):
        assert text in CARD


def test_loading_by_name_and_fewer_points(packs: dict[str, Pack]) -> None:
    pack = load_data("bricks", "test", points=64)
    assert pack.points.shape == (408, 64, 3)
    chosen = {tuple(row) for row in np.concatenate([pack.points[7], pack.normals[7]], 1).tolist()}
    there = {tuple(row) for row in np.concatenate([packs["test"].points[7], packs["test"].normals[7]], 1).tolist()}
    assert chosen <= there  # each normal stays with its point
    with pytest.raises(DataError, match="points: expected 1 to 512"):
        load(None, "test", points=513)


def test_another_folder(tmp_path: Path, packs: dict[str, Pack]) -> None:
    write_pack(packs["test"].select([0, 5]), tmp_path / "train.npz")
    assert load(tmp_path, "train").names.tolist() == packs["test"].names[[0, 5]].tolist()


def test_unknown_split() -> None:
    with pytest.raises(DataError, match=r"^split: expected 'train' or 'test', got 'val'"):
        load(None, "val")
