from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.trained import save_small

from sampled_transformer.cycles import Cycle
from sampled_transformer.inference.trained_network import load
from sampled_transformer.randomness import cycle_seed
from sampled_transformer.view.attending import one_pass, receptive_fields


def cloud(count: int = 60, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, 3))


@pytest.mark.parametrize(
    ("kind", "layers"),
    [("basic", 2), ("basic-dense", 1), ("mae-classifier", 2), ("mae-class-token", 2), ("mae", 2), ("basic-none", 0)],
)
def test_weights_of_every_token_sum_to_one(kind: str, layers: int, tmp_path: Path) -> None:
    trained = load(save_small(tmp_path / "model.safetensors", kind))
    prepared = trained.prepare(cloud())
    trained.network.eval()
    seen = one_pass(trained.network, trained.description.model, prepared.points, prepared.normals, 0)
    assert len(seen.layers) == layers
    for layer in seen.layers:
        total = np.bincount(layer.query, layer.weights(None), minlength=len(layer.positions))
        assert np.allclose(total, 1, atol=1e-5)
        assert np.isclose(layer.received(0).sum(), len(layer.positions), atol=1e-3)
    assert seen.shares is not None
    assert np.isclose(seen.shares.sum(), 1)


def test_a_point_reads_itself_and_its_successor_in_the_cycle_of_the_seed(tmp_path: Path) -> None:
    trained = load(save_small(tmp_path / "model.safetensors", "basic"))
    prepared = trained.prepare(cloud())
    trained.network.eval()
    for seed in (0, 5):
        seen = one_pass(trained.network, "basic", prepared.points, prepared.normals, seed)
        for number, layer in enumerate(seen.layers):
            successor = Cycle.from_points((seed, number, 0), prepared.points[None]).successor.reshape(-1)
            for point in range(4):
                keys, weights = layer.read_by(point)
                assert set(keys.tolist()) == {point, int(successor[point])}
                assert weights[0] >= weights[-1]


def test_shares_are_those_of_the_largest_features(tmp_path: Path) -> None:
    trained = load(save_small(tmp_path / "model.safetensors", "basic"))
    prepared = trained.prepare(cloud())
    network = trained.network.eval()
    seen = one_pass(network, "basic", prepared.points, prepared.normals, 3)
    with torch.inference_mode(), cycle_seed(network, 3):
        _, features = network.forward_points(prepared.points[None], prepared.normals[None])  # type: ignore[operator,index]
    expected = np.zeros(len(prepared.points))
    for feature in features[0].T:
        expected[int(feature.argmax())] += 1 / len(features[0].T)
    assert seen.shares is not None
    assert np.allclose(seen.shares, expected)


def test_mean_pooling_shares_everything_and_attention_pooling_nothing(tmp_path: Path) -> None:
    trained = load(save_small(tmp_path / "one.safetensors", "hierarchical"))
    prepared = trained.prepare(cloud())
    trained.network.eval()
    seen = one_pass(trained.network, "hierarchical", prepared.points, prepared.normals, 0)
    assert seen.shares is not None
    assert np.isclose(seen.shares.sum(), 1, atol=1e-5)
    other = load(save_small(tmp_path / "two.safetensors", "set-transformer"))
    prepared = other.prepare(cloud())
    other.network.eval()
    assert one_pass(other.network, "set-transformer", prepared.points, prepared.normals, 0).shares is None


def test_fields_grow_from_one_point_and_follow_the_cycles() -> None:
    points = torch.from_numpy(cloud(40)).float()
    fields = receptive_fields(points, start=7, depth=6, cycles=1)
    assert fields[0].nonzero()[0].tolist() == [7]
    successor = Cycle.from_points((0, 0, 0), points[None]).successor.reshape(-1)
    assert set(fields[1].nonzero()[0].tolist()) == {7, int(successor[7])}
    assert all(fields[depth].sum() <= 2**depth for depth in range(7))
    several = receptive_fields(points, start=7, depth=6, cycles=4)
    assert (several >= fields).all()
    assert several[3].sum() > fields[3].sum()
