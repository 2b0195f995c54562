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


def test_a_folder_without_a_readable_file(tmp_path: Path) -> None:
    (tmp_path / "broken.off").write_text("OFF")
    with pytest.raises(DataError, match="expected a file that can be read, to find out which axis is up, got none"):
        folder_up(tmp_path)
