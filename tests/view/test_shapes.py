from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data import Pack
from sampled_transformer.data.formats.point_files import Cloud
from sampled_transformer.view.reader import Reading
from sampled_transformer.view.shapes import Shelf, from_reading, load_item, load_shelf, written_size


def test_a_shelf_lists_every_shape_once(make_pack: Callable[..., Pack]) -> None:
    packs = {"test": make_pack(2, 0), "train": make_pack(3, 1)}
    shelf = Shelf(packs)
    assert len(shelf) == 15
    titles = shelf.titles()
    assert len(set(titles)) == 15
    assert titles[0] == "0: needle-0 (needle)"
    item = shelf.item(6)  # the first of the second split
    assert (item.name, item.truth) == ("needle-0", "needle")
    batch = packs["train"].batch([0])
    assert np.allclose(item.raw.points, batch.points[0])  # type: ignore[union-attr]
    assert np.allclose(item.raw.normals, batch.normals[0])  # type: ignore[union-attr,index,arg-type]


def test_the_test_split_comes_first(pack_folder: Path) -> None:
    assert load_shelf(str(pack_folder)).places[0] == ("test", 0)


def test_numbers_are_truths_too(numbers_folder: Path) -> None:
    item = load_shelf(str(numbers_folder)).item(0)
    assert item.truth is not None
    assert any(character.isdigit() for character in item.truth)


def test_packs_of_different_sizes() -> None:
    clouds = [np.random.default_rng(0).normal(size=(count, 3)) for count in (5, 9)]
    shelf = Shelf({"all": Pack.from_arrays(clouds, up="y")})
    assert [len(shelf.item(place).vertices) for place in (0, 1)] == [5, 9]
    assert shelf.item(1).up == "y"
    assert shelf.titles() == ["0: all 0", "1: all 1"]


def test_a_file_knows_the_axis_of_its_format(tmp_path: Path) -> None:
    cloud = Cloud(np.eye(3))
    assert from_reading("chair.glb", Reading(cloud)).up == "y"
    assert from_reading("chair.off", Reading(cloud)).up is None
    np.save(tmp_path / "cloud.npy", np.random.default_rng(0).normal(size=(9, 3)))
    assert load_item(tmp_path / "cloud.npy").name == "cloud.npy"


@pytest.mark.parametrize(
    ("unit", "written"),
    [
        ("unknown", "1500 x 200 x 30 units of the file"),
        ("mm", "1.5 x 0.2 x 0.03 m"),
        ("m", "1.5 x 0.2 x 0.03 km"),
        ("inch", "38.1 x 5.08 x 0.762 m"),
    ],
)
def test_sizes_are_written_in_a_unit_that_suits(unit: str, written: str) -> None:
    assert written_size(np.array([1500.0, 200, 30]), unit) == written
