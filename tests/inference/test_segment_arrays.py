"""`TrainedNetwork.segment`: points from memory or from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.point_packs import save_segmenter
from helpers.scans import write_example

from sampled_transformer.data.axes import turn
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.scans import read_scan
from sampled_transformer.inference.trained_network import TrainedNetwork, load
from sampled_transformer.weights import WeightsError

POINTS = np.random.default_rng(0).uniform(-1, 1, (200, 3))
NORMALS = np.random.default_rng(1).normal(size=(200, 3))
HEIGHT = POINTS[:, 2] * 100


@pytest.fixture
def network(tmp_path: Path) -> TrainedNetwork:
    features = {"normals": 3, "height": 1}
    return load(save_segmenter(tmp_path / "w.safetensors", features=features, optional=["height"]))


def test_every_way_to_give_the_same_points(network: TrainedNetwork) -> None:
    found = network.segment(POINTS, {"normals": NORMALS, "height": HEIGHT})
    assert found.labels.shape == found.confidence.shape == (200,)
    assert found.classes == ("low", "high")
    assert found.notes == ()
    side_by_side = np.column_stack([HEIGHT, NORMALS])  # in the order of their names
    for points, features in (
        (POINTS.tolist(), {"height": HEIGHT[:, None], "normals": NORMALS.tolist()}),
        (torch.from_numpy(POINTS), {"normals": torch.from_numpy(NORMALS), "height": torch.from_numpy(HEIGHT)}),
        (POINTS, side_by_side),
        (POINTS, torch.from_numpy(side_by_side)),
    ):
        again = network.segment(points, features)
        np.testing.assert_array_equal(again.labels, found.labels)
        np.testing.assert_array_equal(again.confidence, found.confidence)


def test_normals_turn_with_the_points(network: TrainedNetwork) -> None:
    expected = network.segment(POINTS, {"normals": NORMALS, "height": HEIGHT})
    lying = network.segment(
        turn(POINTS, "z", "y"), {"normals": turn(NORMALS, "z", "y").astype(np.float32), "height": HEIGHT}, up="y"
    )
    np.testing.assert_allclose(lying.confidence, expected.confidence, atol=1e-5)


def test_what_the_network_can_do_without_is_told(network: TrainedNetwork) -> None:
    (note,) = network.segment(POINTS, {"normals": NORMALS}).notes
    assert note.startswith("no height: labels may be far worse without")
    holes = np.where(np.arange(200) < 3, np.nan, HEIGHT)
    found = network.segment(POINTS, {"normals": NORMALS, "height": holes})
    assert found.notes == ("no height at 3 of 200 points",)


def test_a_file_brings_its_own_features(tmp_path: Path) -> None:
    source = write_example(tmp_path, "ply-little")
    network = load(save_segmenter(tmp_path / "w.safetensors", features={"normals": 3}))
    scan = read_scan(source)
    found = network.segment(source)
    np.testing.assert_array_equal(found.labels, network.segment(scan.points, scan.normals).labels)
    assert network.segment(str(source)).labels.shape == (len(scan),)
    with pytest.raises(ValueError, match="features: expected none with a file, which has its own, got some"):
        network.segment(source, scan.normals)


def test_training_goes_on_as_before(network: TrainedNetwork) -> None:
    network.network.train()
    network.segment(POINTS, {"normals": NORMALS})
    assert network.network.training


@pytest.mark.parametrize(
    ("points", "features", "message"),
    [
        (POINTS[:, :2], NORMALS, r"points: expected numbers of shape \(n, 3\), got float64 \(200, 2\)"),
        (POINTS[:0], NORMALS[:0], "points: expected at least 1 point, got none"),
        (POINTS * np.nan, NORMALS, "points: expected finite numbers, got NaN or infinity"),
        (POINTS, None, r"features: expected normals \(3 numbers per point\), got none"),
        (POINTS, NORMALS, r"features: expected the shape \(200, 4\) for height \(1\), normals \(3\), got \(200, 3\)"),
        (POINTS, {"normal": NORMALS}, r"features: expected those of the network \(height, normals\), got 'normal'"),
        (POINTS, {"normals": NORMALS[:9]}, r"normals: expected the shape \(200, 3\), got \(9, 3\)"),
        (POINTS, {"normals": NORMALS[:, :2]}, r"normals: expected the shape \(200, 3\), got \(200, 2\)"),
        (POINTS, {"normals": 3.0}, r"normals: expected numbers, one or more per point, got float64 \(\)"),
        (POINTS, {"normals": ["up"] * 200}, r"normals: expected numbers, one or more per point, got <U2"),
        (POINTS, {"normals": NORMALS * np.inf}, "normals: expected finite numbers, got NaN or infinity at 200 of 200"),
    ],
)
@pytest.mark.parametrize("up", [None, "y"])
def test_what_does_not_fit_is_refused(
    network: TrainedNetwork, points: Any, features: Any, message: str, up: str | None
) -> None:
    with pytest.raises(DataError if "those of" not in message else ValueError, match=message):
        network.segment(points, features, up=up)


def test_other_networks_and_options_are_refused(network: TrainedNetwork) -> None:
    with pytest.raises(ValueError, match="up: expected one of"):
        network.segment(POINTS, {"normals": NORMALS}, up="w")
    with pytest.raises(ValueError, match="memory: expected more than"):
        network.segment(POINTS, {"normals": NORMALS}, memory=0.1)
    with pytest.raises(ValueError, match="samples: expected"):
        network.segment(POINTS, {"normals": NORMALS}, samples=0)
    with pytest.raises(WeightsError, match="bricks: expected a network that labels points, a 'segmenter', got a"):
        load("bricks").segment(POINTS)
    with pytest.raises(WeightsError, match="expected a classifier, got a 'segmenter', which labels points; use it"):
        network.predict(POINTS)
