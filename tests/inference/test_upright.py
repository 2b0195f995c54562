"""Which axis is up in a folder: the one with which the network is surest."""

from __future__ import annotations

from pathlib import Path

import pytest
import trimesh

from sampled_transformer.data.axes import rotation
from sampled_transformer.data.errors import DataError
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
    assert why == f"{tmp_path}: {up} taken for up: modelnet40 is surest so, for 3 of 3 files alone"


def test_a_folder_without_a_readable_file(tmp_path: Path) -> None:
    (tmp_path / "broken.off").write_text("OFF")
    with pytest.raises(DataError, match="expected a file that can be read, to find out which axis is up, got none"):
        folder_up(tmp_path)
