"""The embedded part of brick-parts: sizes, split, labels, its data card, and the whole from a folder."""

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data import load_data, write_pack
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.npz import read_arrays, write_arrays
from sampled_transformer.data.pack import Pack
from sampled_transformer.data.sources.brick_parts import load, read_coded

FOLDER = files("sampled_transformer.data") / "brick_parts_pack"
CARD = (FOLDER / "README.md").read_text()


@pytest.fixture(scope="module")
def packs() -> dict[str, Pack]:
    return {split: load(None, split) for split in ("train", "test")}


def test_sizes(packs: dict[str, Pack]) -> None:
    for split, sets in (("train", 420), ("test", 323)):
        pack = packs[split]
        assert pack.points.shape == pack.normals.shape == (sets, 1024, 3)
        assert pack.point_labels.shape == (sets, 1024)
        assert pack.names.shape == (sets,)
        assert pack.point_classes[:3] == ("body", "stud", "tube")
        assert len(pack.point_classes) == 10
        assert pack.up == "z"


def test_nothing_is_in_both_splits(packs: dict[str, Pack]) -> None:
    numbers = [{re.match("[a-z]*[0-9]+", name).group() for name in pack.names} for pack in packs.values()]
    assert not numbers[0] & numbers[1]


def test_points_and_normals_are_what_the_format_says(packs: dict[str, Pack]) -> None:
    for pack in packs.values():
        batch = pack.batch(slice(None))
        assert batch.points.norm(dim=-1).max() < 1.003
        assert (batch.points.norm(dim=-1).amax(1) > 0.8).all()
        assert (batch.normals.norm(dim=-1) - 1).abs().max() < 0.06


def test_studs_are_round_and_point_up(packs: dict[str, Pack]) -> None:
    """Labels belong to their points: studs lie on top of a brick, and their sides have level normals."""
    pack = packs["test"]
    stud = pack.point_labels == pack.point_classes.index("stud")
    heights, chosen = pack.points[..., 2], stud.mean(1) > 0.02
    higher = [heights[i][stud[i]].mean() > heights[i][~stud[i]].mean() for i in np.flatnonzero(chosen)]
    assert np.mean(higher) > 0.9  # a few have studs on their sides
    slope = np.abs(pack.normals[..., 2][stud].astype(int))
    assert ((slope < 8) | (slope > 119)).mean() > 0.9


def test_the_first_points_of_a_part_are_random_ones(packs: dict[str, Pack]) -> None:
    """The file has them sorted; whoever takes the first ones must not get one side of the part alone."""
    pack = packs["test"]
    first = [np.abs(pack.points[:, :rows].mean(1) / 32767).max() for rows in (128, 1024)]
    assert first[0] < 0.35
    assert first[1] < 0.15
    np.testing.assert_array_equal(load(None, "test").points, pack.points)


def test_data_card_is_true(packs: dict[str, Pack]) -> None:
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in CARD.splitlines() if line.count("|") == 6]
    table = {row[0]: row[1:] for row in rows}
    for number, name in enumerate(packs["train"].point_classes):
        shares = [pack.point_labels == number for pack in packs.values()]
        points = [f"{100 * share.mean():.2f} %" for share in shares]
        parts = [f"{(share.mean(1) >= 0.02).sum()}" for share in shares]
        assert table[name] == points + parts
    for text in ("LDraw.org Parts Library", "CC BY 4.0", "creativecommons.org/licenses/by/4.0", "all axes alike"):
        assert text in CARD.replace("\n", " ")


def test_loading_by_name_and_fewer_points(packs: dict[str, Pack]) -> None:
    pack = load_data("brick-parts", "test", points=64)
    assert pack.points.shape == (323, 64, 3)

    def rows(one: Pack) -> set[tuple[int, ...]]:
        columns = [one.points[7], one.normals[7], one.point_labels[7][:, None]]
        return {tuple(row) for row in np.concatenate(columns, 1).tolist()}

    assert rows(pack) <= rows(packs["test"])
    with pytest.raises(DataError, match="points: expected 1 to 1024"):
        load(None, "test", points=1025)
    with pytest.raises(DataError, match=r"^split: expected 'train' or 'test', got 'val'"):
        load(None, "val")


def test_the_whole_from_a_folder(tmp_path: Path, packs: dict[str, Pack]) -> None:
    write_pack(packs["test"].select([0, 5]), tmp_path / "train.npz")
    whole = load(tmp_path, "train", points=100)
    assert whole.names.tolist() == packs["test"].names[[0, 5]].tolist()
    assert (whole.points.shape, whole.up) == ((2, 100, 3), "z")


def test_broken_files_are_named(tmp_path: Path) -> None:
    arrays = read_arrays(str(FOLDER / "test.npz"))
    path = tmp_path / "a.npz"
    write_arrays(path, {name: array for name, array in arrays.items() if name != "normals"})
    with pytest.raises(DataError, match=r"a\.npz: expected arrays points, .*, got none called normals"):
        read_coded(path)
    write_arrays(path, arrays | {"points": arrays["points"][:3]})
    with pytest.raises(DataError, match=r"a\.npz: points: expected uint8"):
        read_coded(path)
    write_arrays(path, arrays | {"point_labels": arrays["point_labels"][1:]})
    with pytest.raises(DataError, match=r"a\.npz: point_labels: expected integers"):
        read_coded(path)
