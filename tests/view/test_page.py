from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh
from helpers.trained import save_small

from sampled_transformer.data import Pack, write_pack
from sampled_transformer.data.errors import DataError
from sampled_transformer.view.page import open_page


def test_without_anything_the_embedded_parts_are_shown() -> None:
    page = open_page()
    assert (page.weights, page.kind) == ("bricks", "classes")
    assert page.shelf is not None
    assert page.shelf.places[0][0] == "test"


def test_a_mesh_is_shown_with_a_network_whose_attention_can_be_seen(tmp_path: Path) -> None:
    trimesh.creation.box().export(tmp_path / "box.off")
    page = open_page(str(tmp_path / "box.off"))
    assert page.trained.description.options["attention"] == "sampled"
    assert page.first is not None
    cloud = np.hstack([np.random.default_rng(0).normal(size=(50, 3)), np.tile([0, 0, 1.0], (50, 1))])
    np.save(tmp_path / "normals.npy", cloud)
    assert open_page(str(tmp_path / "normals.npy")).weights == page.weights


def test_points_without_normals_are_shown_with_the_default_weights(tmp_path: Path) -> None:
    np.save(tmp_path / "cloud.npy", np.random.default_rng(0).normal(size=(50, 3)))
    page = open_page(str(tmp_path / "cloud.npy"))
    assert page.weights == "modelnet40-points"
    assert page.first is not None
    assert page.first.name == "cloud.npy"
    assert page.shelf is None


def test_a_pack_with_other_weights(pack_folder: Path, tmp_path: Path, make_pack: Callable[..., Pack]) -> None:
    weights = save_small(tmp_path / "model.safetensors")
    page = open_page(str(pack_folder), str(weights))
    assert page.shelf is not None
    assert len(page.shelf) == 48
    write_pack(make_pack(2, 0), tmp_path / "one.npz")
    assert len(open_page(str(tmp_path / "one.npz"), str(weights)).shelf or ()) == 6


def test_a_run_is_shown_with_its_own_data(pack_folder: Path, regressor: Path, tmp_path: Path) -> None:
    page = open_page(str(regressor))
    assert page.kind == "number"
    assert page.shelf is not None
    assert page.shelf.item(0).truth is not None
    kinds = {"mae": "features", "mae-classifier": "classes"}
    for kind, does in kinds.items():
        page = open_page(str(save_small(tmp_path / f"{kind}.safetensors", kind)))
        assert page.kind == does
        assert page.shelf is not None  # its data is not here: the embedded parts


def test_clustering_has_points_of_the_plane(tmp_path: Path) -> None:
    page = open_page("mixtures")
    assert (page.kind, page.dimension, page.shelf) == ("clusters", 2, None)
    (tmp_path / "points.csv").write_text("1,2\n3,4\n5,6\n7,9\n0,1\n")
    page = open_page(str(tmp_path / "points.csv"), "mixtures")
    assert page.first is not None
    assert page.first.vertices.shape == (5, 2)


def test_what_cannot_be_shown_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no such file, folder or data set"):
        open_page("nowhere")
    (tmp_path / "chairs").mkdir()
    with pytest.raises(DataError, match="expected a file, a pack, a run or weights; `data pack` makes a pack"):
        open_page(str(tmp_path))
    (tmp_path / "broken.off").write_text("OFF\nnonsense")
    with pytest.raises(DataError, match=r"broken\.off: "):
        open_page(str(tmp_path / "broken.off"))
