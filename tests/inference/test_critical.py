from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.trained import save_small

from sampled_transformer.inference.critical import critical_shares, nearest
from sampled_transformer.inference.trained_network import load


def cloud(count: int = 60) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(count, 3))


@pytest.mark.parametrize("kind", ["basic", "basic-none", "mae-classifier", "hierarchical"])
def test_shares_sum_to_one(kind: str, tmp_path: Path) -> None:
    trained = load(save_small(tmp_path / "model.safetensors", kind))
    prepared = trained.prepare(cloud())
    shares = critical_shares(trained.network, trained.description.model, prepared.points, prepared.normals)
    assert shares is not None
    assert shares.shape == (len(prepared.points),)
    assert shares.min() >= 0
    assert np.isclose(shares.sum(), 1, atol=0.3)  # a group without points of its own keeps its share


def test_points_that_have_no_share_do_not_matter(tmp_path: Path) -> None:
    trained = load(save_small(tmp_path / "model.safetensors", "basic-none"))
    prepared = trained.prepare(cloud())
    assert prepared.normals is not None
    network = trained.network.eval()
    shares = critical_shares(network, "basic", prepared.points, prepared.normals)
    assert shares is not None
    kept = shares > 0
    assert 0 < kept.sum() < len(kept)
    everything = network(prepared.points[None], prepared.normals[None])
    some = network(prepared.points[kept][None], prepared.normals[kept][None])
    assert np.allclose(everything.detach(), some.detach(), atol=1e-5)


def test_attention_pools_have_no_shares(tmp_path: Path) -> None:
    trained = load(save_small(tmp_path / "model.safetensors", "set-transformer"))
    prepared = trained.prepare(cloud())
    assert critical_shares(trained.network, "set-transformer", prepared.points, prepared.normals) is None


def test_positions_find_their_nearest_token() -> None:
    points = cloud(20)
    assert nearest(points, points).tolist() == list(range(20))
    assert nearest(points, points[::4] + 1e-9)[[0, 4, 8]].tolist() == [0, 1, 2]
