from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh
from helpers.trained import KINDS, POINTS, save_small

from sampled_transformer.inference.features import layer_name, point_features, set_features, stack
from sampled_transformer.inference.prepared import Prepared, prepare_sets
from sampled_transformer.inference.trained_network import TrainedNetwork, load
from sampled_transformer.randomness import cycle_seed

PER_POINT = [kind for kind in KINDS if KINDS[kind][0] in ("basic", "set-transformer")]
PER_GROUP = [kind for kind in KINDS if kind not in PER_POINT]


def cloud(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(size, 3))


def small(tmp_path: Path, kind: str) -> TrainedNetwork:
    return load(save_small(tmp_path / "w.safetensors", kind))


def prepared(net: TrainedNetwork, points: object) -> Prepared:
    return prepare_sets(net.view, points)[0][0]


def in_drawn_order(net: TrainedNetwork, one: Prepared, features: torch.Tensor, positions: torch.Tensor) -> np.ndarray:
    """Rows sorted by the coordinates that they belong to: another way to match rows and points."""
    order = np.lexsort(positions.numpy().T)
    return features.numpy()[order]


@pytest.mark.parametrize("kind", PER_POINT)
@pytest.mark.parametrize("size", [20, POINTS])
def test_every_point_of_a_small_set_has_its_row(kind: str, size: int, tmp_path: Path) -> None:
    net, points = small(tmp_path, kind), cloud(size)
    found = net.features(points, per_point=True)
    np.testing.assert_array_equal(found.rows, np.arange(size))
    np.testing.assert_array_equal(found.points, points)
    assert found.features.shape == (size, 16)


@pytest.mark.parametrize("kind", PER_POINT)
def test_rows_of_a_large_set_name_the_points_that_were_read(kind: str, tmp_path: Path) -> None:
    net, points = small(tmp_path, kind), cloud(90)
    found = net.features(points, per_point=True)
    assert found.rows.shape == (POINTS,)
    assert (np.diff(found.rows) > 0).all()
    np.testing.assert_array_equal(found.points, points[found.rows])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [20, 90])
def test_rows_are_those_of_the_network(kind: str, size: int, tmp_path: Path) -> None:
    """What the network gives for each position is found at the point that this position is."""
    net = small(tmp_path, kind)
    one = prepared(net, cloud(size))
    points, normals = stack([one], torch.device("cpu"))
    with torch.inference_mode():
        positions, features = net.network.forward_points(points, normals)
    (found,) = point_features(net.network, [one])
    read = {one.points[i].numpy().tobytes(): one.draw.rows[one.order[i]] for i in range(POINTS)}
    rows = np.array([read[place.numpy().tobytes()] for place in positions[0]])
    assert set(found.rows) == set(rows)
    for row, values in zip(found.rows, found.features, strict=True):
        candidates = features[0].numpy()[rows == row]  # several where the point was repeated
        assert any(np.array_equal(values, candidate) for candidate in candidates)


@pytest.mark.parametrize("kind", PER_GROUP)
def test_networks_of_groups_have_a_row_per_group(kind: str, tmp_path: Path) -> None:
    net, points = small(tmp_path, kind), cloud(90)
    found = net.features(points, per_point=True)
    assert found.features.shape == (8, 16)
    assert (np.diff(found.rows) >= 0).all()
    np.testing.assert_array_equal(found.points, points[found.rows])


def test_points_on_a_mesh_have_no_rows(tmp_path: Path) -> None:
    net = small(tmp_path, "basic")
    box = trimesh.creation.box((2, 2, 2))
    found = net.features(box, per_point=True)
    assert found.rows is None
    assert found.features.shape == (POINTS, 16)
    np.testing.assert_allclose(np.abs(found.points).max(1), 1)  # on the surface, in the units of the mesh


def test_coincident_points_keep_their_rows(tmp_path: Path) -> None:
    points = np.repeat(cloud(8), 3, 0)
    for kind in PER_POINT:
        found = small(tmp_path, kind).features(points, per_point=True)
        np.testing.assert_array_equal(found.rows, np.arange(24))
        np.testing.assert_array_equal(found.points, points)


@pytest.mark.parametrize("kind", ["basic", "set-transformer-columns", "mae"])
def test_samples_average_over_cycles(kind: str, tmp_path: Path) -> None:
    net = small(tmp_path, kind)
    one = prepared(net, cloud(90))
    points, normals = stack([one], torch.device("cpu"))
    pooled, rows = [], []
    for seed in range(3):
        with cycle_seed(net.network, seed), torch.inference_mode():
            pooled.append(net.network.forward_features(points, normals)[0].numpy())
            positions, features = net.network.forward_points(points, normals)
        rows.append(in_drawn_order(net, one, features[0], positions[0]))
    with torch.inference_mode():
        np.testing.assert_allclose(
            set_features(net.network, points, normals, samples=3)[0], np.mean(pooled, 0), atol=1e-6
        )
        (found,) = point_features(net.network, [one], samples=3)
    expected = np.mean(rows, 0)
    scale = one.points.numpy()
    drawn = {row: number for number, row in enumerate(one.draw.rows[one.order])}
    places = np.stack([scale[drawn[row]] for row in found.rows])
    np.testing.assert_allclose(found.features[np.lexsort(places.T)], expected, atol=1e-6)
    assert np.abs(pooled[0] - pooled[1]).max() > 0


def test_names_of_layers(tmp_path: Path) -> None:
    network = small(tmp_path, "mae").network
    assert layer_name(network, None) is None
    assert layer_name(network, 0) == "encoder.embedding"
    assert layer_name(network, -1) == layer_name(network, "encoder.stack.blocks.1") == "encoder.stack.blocks.1"
    with pytest.raises(ValueError, match=r"layer: expected 0 to 2, or one of encoder\.embedding, .*, got -4"):
        layer_name(network, -4)
    with pytest.raises(ValueError, match="layer: expected None, as the network has no block, got 0"):
        layer_name(small(tmp_path, "basic-none").network, 0)


def test_hooks_are_gone_afterwards(tmp_path: Path) -> None:
    net = small(tmp_path, "basic")
    net.features(cloud(50), layer=0)
    assert not net.network.blocks[0]._forward_hooks
