"""Which axis is up in a folder: the one that is likeliest to the network."""

from __future__ import annotations

from pathlib import Path

import pytest
import trimesh

from sampled_transformer.data.axes import rotation
from sampled_transformer.data.errors import DataError
from sampled_transformer.inference.defaults import DEFAULT_WEIGHTS
from sampled_transformer.inference.trained_network import load
from sampled_transformer.inference.upright import folder_up


@pytest.mark.parametrize("up", ["y", "-z"])
def test_cones_stand_on_their_base(up: str, tmp_path: Path) -> None:
    for number, radius in enumerate((0.4, 0.5, 0.6)):
        cone = trimesh.creation.cone(radius=radius, height=1.2)
        cone.vertices = cone.vertices @ rotation("z", up).T
        cone.export(tmp_path / f"{number}.off")
    (tmp_path / "broken.off").write_text("OFF")
    axis, why = folder_up(tmp_path, load("modelnet40", batch=6))
    assert axis == up
    assert why == f"{tmp_path}: {up} taken for up: the likeliest to modelnet40, for 3 of 3 files alone"


def table() -> trimesh.Trimesh:
    """A table that stands: a top on four legs."""
    parts = [((1.6, 1.0, 0.06), (0, 0, 0.75))]
    parts += [((0.07, 0.07, 0.74), (x, y, 0.37)) for x in (-0.72, 0.72) for y in (-0.42, 0.42)]
    boxes = [trimesh.creation.box(size).apply_translation(place) for size, place in parts]
    return trimesh.util.concatenate(boxes)


def test_a_table_on_its_side_is_no_door(tmp_path: Path) -> None:
    """With x up, the network of positions takes it for a door, and is a little surer than of a table with y up."""
    lying = table()
    lying.vertices = lying.vertices @ rotation("z", "y").T
    lying.export(tmp_path / "table.off")
    net = load(DEFAULT_WEIGHTS, batch=6)
    assert net.predict(tmp_path / "table.off", up="auto") == "table"
    assert net.prepare(tmp_path / "table.off", up="auto").notes == ("y taken for up, the likeliest of 6",)
    axis, why = folder_up(tmp_path, net)
    assert axis == "y"
    assert why == f"{tmp_path}: y taken for up: the likeliest to {DEFAULT_WEIGHTS}, for 1 of 1 files alone"


def cones(folder: Path, up: str, ending: str, count: int = 3) -> None:
    for number in range(count):
        cone = trimesh.creation.cone(radius=0.4 + number / 10, height=1.2)
        cone.vertices = cone.vertices @ rotation("z", up).T
        cone.export(folder / f"{number}{up}.{ending}")


def test_formats_that_prescribe_an_axis_keep_it_and_do_not_vote(tmp_path: Path) -> None:
    net = load("modelnet40", batch=6)
    cones(tmp_path, "y", "glb", 5)
    assert folder_up(tmp_path, net) == (None, f"{tmp_path}: y is up, as the format of all its files prescribes")
    cones(tmp_path, "z", "off")
    axis, why = folder_up(tmp_path, net)
    assert axis is None  # glTF as its standard says, other files with z up
    assert "z taken for up: the likeliest to modelnet40, for 3 of 3 files alone; those of .glb keep the axis" in why
    for path in tmp_path.glob("*.off"):
        path.unlink()
    cones(tmp_path, "y", "off")
    assert folder_up(tmp_path, net)[0] == "y"
    for path in tmp_path.glob("*.off"):
        path.unlink()
    cones(tmp_path, "-z", "off")
    with pytest.raises(DataError, match=r"-z taken for up.*, but those of \.glb prescribe another: pack them apart"):
        folder_up(tmp_path, net)


def test_a_weak_majority_is_told(tmp_path: Path) -> None:
    for up in ("z", "-z"):
        cones(tmp_path, up, "off", 2)
    why = folder_up(tmp_path, load("modelnet40", batch=6))[1]
    assert why.endswith("for 2 of 4 files alone, which is no majority: give the axis if you know it")


def test_a_folder_without_a_readable_file(tmp_path: Path) -> None:
    (tmp_path / "broken.off").write_text("OFF")
    with pytest.raises(DataError, match="expected a file that can be read, to find out which axis is up, got none"):
        folder_up(tmp_path)
