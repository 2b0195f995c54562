from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sampled_transformer import create_model
from sampled_transformer.data.formats.ply import read_ply
from sampled_transformer.inference.reconstruction import reconstruct, write_clouds, write_ply
from sampled_transformer.models.inputs import canonical_rows
from sampled_transformer.models.mae.mask import draw_mask
from sampled_transformer.models.tokens import group_points
from sampled_transformer.weights import Description, load_model, save_model

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "embedding": 8, "groups": 8, "group_size": 8}


@pytest.fixture
def weights(tmp_path) -> Path:
    torch.manual_seed(0)
    notes = {"data": {"source": "x", "root": None, "preset": "pretrain", "points": 64, "normals": False}}
    options = {"normals": False, **SMALL}
    save_model(create_model("mae", **options), tmp_path / "mae.safetensors", Description("mae", options, (), notes))
    return tmp_path / "mae.safetensors"


@pytest.fixture
def file(tmp_path) -> Path:
    np.save(tmp_path / "cloud.npy", np.random.default_rng(0).normal(size=(200, 3)))
    return tmp_path / "cloud.npy"


def rows(points: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple(row) for row in points.tolist()}


def test_the_three_clouds(file, weights):
    clouds = reconstruct(file, weights, seed=3)
    assert clouds.original.shape == (64, 3)
    assert (clouds.masked, clouds.groups) == (5, 8)
    assert rows(clouds.visible) <= rows(clouds.original)
    network = load_model(weights)[0]
    (points,) = canonical_rows(torch.from_numpy(clouds.original)[None])  # as the network sees them
    groups = group_points(points, 8, 8)
    visible, masked = (groups.take(i) for i in draw_mask(1, 8, 0.7, torch.Generator().manual_seed(3)))
    seen = (visible.points + visible.centres[:, :, None]).reshape(-1, 3).numpy()
    near = np.abs(clouds.original[:, None] - seen).max(2).min(1) < 1e-5
    assert rows(clouds.visible) == rows(clouds.original[near])
    outcome = network.rebuild(visible, masked)
    rebuilt = (outcome.rebuilt + masked.centres[:, :, None]).reshape(-1, 3).detach().numpy()
    assert len(clouds.rebuilt) == len(rebuilt) == 40
    np.testing.assert_allclose(clouds.rebuilt, rebuilt, atol=1e-5)
    assert clouds.loss == pytest.approx(outcome.loss().item(), rel=1e-4)


def test_seed_and_ratio_choose_what_is_masked(file, weights):
    one, two = (reconstruct(file, weights, seed=seed) for seed in (0, 1))
    assert rows(one.visible) != rows(two.visible)
    assert rows(reconstruct(file, weights).visible) == rows(one.visible)
    assert reconstruct(file, weights, mask_ratio=0.25).masked == 2
    with pytest.raises(ValueError, match="mask_ratio: expected more than 0 and less than 1, got 1"):
        reconstruct(file, weights, mask_ratio=1)


def test_clouds_are_written_as_ply_that_can_be_read(file, weights, tmp_path):
    clouds = reconstruct(file, weights)
    paths = write_clouds(clouds, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == ["visible.ply", "rebuilt.ply", "original.ply"]
    for path in paths:
        np.testing.assert_allclose(read_ply(path).points, getattr(clouds, path.stem), rtol=1e-6)
    write_ply(np.zeros((0, 3)), tmp_path / "empty.ply")
    assert b"element vertex 0" in (tmp_path / "empty.ply").read_bytes()


def test_other_networks_are_refused(file, tmp_path):
    options = {"classes": 3, "dim": 16}
    save_model(create_model("basic", **options), tmp_path / "basic.safetensors", Description("basic", options))
    with pytest.raises(ValueError, match="expected a 'mae', got 'basic'"):
        reconstruct(file, tmp_path / "basic.safetensors")
