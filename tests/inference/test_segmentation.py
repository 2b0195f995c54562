"""Labels for every point: subsets of shapes, scenes in one pass and in tiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.point_packs import CLASSES, save_segmenter

from sampled_transformer.data.errors import DataError
from sampled_transformer.inference import segmentation
from sampled_transformer.inference.segmentation import (
    Points,
    Segmentation,
    check_features,
    label_points,
    most_points,
    point_view_of,
    scene_probabilities,
    scene_spacing,
)
from sampled_transformer.training.point_loading import PointView
from sampled_transformer.weights import Description, WeightsError, load_model

SCENE = {"part": "crop", "size": "kept"}


def load(folder: Path, view: dict[str, Any] | None = None, **options: Any) -> tuple[torch.nn.Module, PointView]:
    network, description = load_model(save_segmenter(folder / "w.safetensors", view, **options))
    return network, point_view_of(description, "w")


def balance(network: torch.nn.Module, view: PointView, points: np.ndarray) -> None:
    """Shift the logits of a new network so that half of these points have each class."""
    with torch.no_grad():
        logits = network(torch.from_numpy(view.place(points)).float().unsqueeze(0))[0]
        network.head[-1].bias[0] += (logits[:, 1] - logits[:, 0]).median()


def cloud(count: int, seed: int = 0) -> np.ndarray:
    """Multiples of 2^-10, which map coordinates hold without rounding."""
    return np.random.default_rng(seed).integers(-2048, 2048, (count, 3)) / 1024


def scene(count: int = 6000) -> np.ndarray:
    """Rolling ground, 40 by 40 metres."""
    generator = np.random.default_rng(0)
    ground = generator.uniform(0, 40, (count, 2))
    height = np.sin(ground[:, 0]) * np.cos(ground[:, 1] / 2) + generator.uniform(0, 0.3, count)
    return np.round(np.column_stack([ground, height]) * 1024) / 1024


@pytest.mark.parametrize("count", [1, 5, 63, 64, 65, 1025, 2000])
def test_every_point_of_a_shape_is_labelled_once(tmp_path: Path, count: int) -> None:
    network, view = load(tmp_path)
    reported: list[int] = []
    labels, confidence = label_points(network, view, Points(cloud(count), {}), report=reported.append)
    assert sum(reported) == count
    assert labels.dtype == np.int16
    assert confidence.dtype == np.float32
    assert labels.shape == confidence.shape == (count,)
    assert set(labels.tolist()) <= {0, 1}
    assert (confidence >= 0.5 - 1e-6).all()
    assert (confidence <= 1).all()


def test_a_shape_of_the_usual_size_is_one_pass(tmp_path: Path) -> None:
    network, view = load(tmp_path)
    points = cloud(64)
    labels, confidence = label_points(network, view, Points(points, {}))
    with torch.no_grad():
        answer = network(torch.from_numpy(view.place(points)).float().unsqueeze(0))[0].softmax(1)
    assert labels.tolist() == answer.argmax(1).tolist()
    np.testing.assert_allclose(confidence, answer.amax(1).numpy(), rtol=1e-5)


@pytest.mark.parametrize("count", [64, 300, 1025])
@pytest.mark.parametrize("kind", ["shape", "scene"])
def test_order_map_coordinates_and_millimetres_do_not_matter(tmp_path: Path, count: int, kind: str) -> None:
    options: dict[str, Any] = {} if kind == "shape" else {"view": SCENE, "positions": "z"}
    network, view = load(tmp_path, **options)
    points = cloud(count)
    points = points[np.unique(points, axis=0, return_index=True)[1]]
    balance(network, view, points)
    expected, confidence = label_points(network, view, Points(points, {}))
    assert len(set(expected.tolist())) == 2
    order = np.random.default_rng(1).permutation(len(points))
    shuffled, _ = label_points(network, view, Points(points[order], {}))
    assert shuffled.tolist() == expected[order].tolist()
    moved, far = label_points(network, view, Points(points + np.array([5e5, 5.4e6, 300]), {}))
    assert moved.tolist() == expected.tolist()
    np.testing.assert_allclose(far, confidence, atol=1e-4)
    if kind == "shape":  # a network of scenes knows how high a metre is
        millimetres, _ = label_points(network, view, Points(points * 1000, {}))
        assert millimetres.tolist() == expected.tolist()


def test_features_go_where_their_points_go(tmp_path: Path) -> None:
    network, view = load(tmp_path, features={"height": 1}, positions="")
    points = cloud(500)
    height = (points[:, 2:] * 5).astype(np.float32)
    _, confidence = label_points(network, view, Points(points, {"height": height}))
    order = np.random.default_rng(1).permutation(500)
    _, shuffled = label_points(network, view, Points(points[order], {"height": height[order]}))
    np.testing.assert_allclose(shuffled, confidence[order], atol=1e-5)
    _, other = label_points(network, view, Points(points, {"height": height[::-1].copy()}))
    assert np.abs(other - confidence).max() > 1e-3


@pytest.mark.parametrize("on_disk", [False, True])
def test_tiles_agree_with_one_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_disk: bool) -> None:
    """Without attention, a point reads no further than its margin, so only rounding may differ."""
    network, view = load(tmp_path, SCENE, positions="z")
    points = scene()
    balance(network, view, points)
    whole, confidence = label_points(network, view, Points(points, {}))
    assert 0.1 < whole.mean() < 0.9
    given = points
    if on_disk:
        given = np.memmap(tmp_path / "points", np.float64, "w+", shape=points.shape)
        given[:] = points
        # A scene on disk has its spacing measured on some tiles; here we compare what follows from the same one.
        monkeypatch.setattr(segmentation, "_sampled_spacing", lambda positions, most: scene_spacing(points))
    passes: list[int] = []
    network.register_forward_hook(lambda module, args, output: passes.append(len(output)))
    reported: list[int] = []
    tiled, votes = label_points(network, view, Points(given, {}), most=2000, report=reported.append)
    assert len(passes) >= 6
    assert max(passes) < len(points)
    assert (tiled == whole).mean() >= 0.99
    np.testing.assert_allclose(votes, confidence, atol=0.02)
    inside = ((points[:, :2] > 5) & (points[:, :2] < 8)).all(1)  # in the interior of a tile
    assert (tiled == whole)[inside].all()
    assert len(points) <= sum(reported) <= 1.01 * len(points)


def test_the_spacing_of_a_large_scene_is_near_that_of_its_tiles(tmp_path: Path) -> None:
    points = scene(20_000)
    whole = scene_spacing(points)
    assert segmentation._sampled_spacing(points, 8000) == pytest.approx(whole, rel=0.1)


def test_the_spacing_of_some_points_is_near_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    points = scene(8000)
    whole = scene_spacing(points)
    monkeypatch.setattr(segmentation, "SPACING_QUERIES", 800)
    assert scene_spacing(points) == pytest.approx(whole, rel=0.05)
    order = np.random.default_rng(0).permutation(8000)
    assert scene_spacing(points[order]) == scene_spacing(points)
    assert scene_spacing(np.concatenate([points, np.repeat(points[:1], 20_000, 0)])) == pytest.approx(whole, rel=0.3)
    assert scene_spacing(np.ones((3000, 3))) == 0


def test_probabilities_in_tiles_are_those_of_one_pass(tmp_path: Path) -> None:
    network, view = load(tmp_path, SCENE, positions="z", features={"intensity": 1})
    points = torch.from_numpy(view.place(scene())).float()
    features = {"intensity": points.sum(1, keepdim=True).sin()}
    with torch.inference_mode():
        whole = network(points, features, ptr=[0, len(points)]).softmax(1)
    assert whole.std(0).min() > 0.001
    tiled = scene_probabilities(network, points, features, 1, 2000)
    torch.testing.assert_close(tiled.sum(1), torch.ones(len(points)))
    assert float(((tiled - whole).abs() < 1e-4).all(1).double().mean()) > 0.9


def test_odd_scenes(tmp_path: Path) -> None:
    network, view = load(tmp_path, SCENE, positions="z")
    stray = np.concatenate([scene(3000) + np.array([5e5, 5.4e6, 0]), np.zeros((1, 3))])
    for points in (np.ones((1, 3)), np.ones((50, 3)), np.arange(6.0).reshape(2, 3), stray):
        for most in (20, 100_000):
            labels, confidence = label_points(network, view, Points(points, {}), most=max(most, len(points) // 4))
            assert labels.shape == (len(points),)
            assert np.isfinite(confidence).all()
    with pytest.raises(DataError, match="points: expected at least 1 point, got none"):
        label_points(network, view, Points(np.zeros((0, 3)), {}))


def test_cycles_are_averaged(tmp_path: Path) -> None:
    network, view = load(tmp_path, attention="sampled", attended=[1])
    points = Points(cloud(64), {})
    once, twice, again = (label_points(network, view, points, samples=samples)[1] for samples in (1, 4, 4))
    assert not np.array_equal(once, twice)
    assert np.array_equal(twice, again)


def test_answers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    network, view = load(tmp_path)
    with torch.no_grad():
        network.head[-1].bias.fill_(torch.nan)
    with pytest.raises(DataError, match="the network's output is not finite"):
        label_points(network, view, Points(cloud(20), {}))


def test_memory_decides_how_many_points_a_pass_has() -> None:
    assert most_points(4.0) > 1_000_000
    assert most_points(2.0) < most_points(4.0)
    for memory in (0.0, 0.5, -1.0, float("nan")):
        with pytest.raises(ValueError, match=r"memory: expected more than 0\.7 gigabytes, got"):
            most_points(memory)


VIEW = PointView(64, features={"colour": 3, "height": 1}, optional=("height",))


def test_features_that_the_network_reads_are_checked() -> None:
    colour, height = np.full((9, 3), 0.5), np.arange(9.0)
    found, notes = check_features(VIEW, {"height": height, "colour": colour, "other": height}, 9)
    assert {name: values.shape for name, values in found.items()} == {"colour": (9, 3), "height": (9, 1)}
    assert notes == []
    found, notes = check_features(VIEW, {"colour": colour}, 9)
    assert list(found) == ["colour"]
    assert notes == ["no height: labels may be far worse without; `segment evaluate --without height` says by how much"]
    height[2:4] = np.nan
    assert check_features(VIEW, {"colour": colour, "height": height}, 9)[1] == ["no height at 2 of 9 points"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"features: expected colour \(3 numbers per point\), got none"),
        ({"color": np.ones((9, 3))}, r"features: expected colour \(3 numbers per point\), got color"),
        ({"colour": np.ones((9, 2))}, r"colour: expected the shape \(9, 3\), got \(9, 2\)"),
        ({"colour": np.ones((8, 3))}, r"colour: expected the shape \(9, 3\), got \(8, 3\)"),
        ({"colour": np.full((9, 3), np.inf)}, "colour: expected finite numbers, got NaN or infinity at 9 of 9 points"),
    ],
)
def test_features_that_do_not_fit_are_refused(given: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_features(VIEW, given, 9)


def test_the_view_comes_from_the_file() -> None:
    options = {"features": {"colour": 3}, "optional": ["colour"]}
    notes = {"data": {"points": 50, "part": "crop", "size": "kept", "up": "z"}}
    view = point_view_of(Description("segmenter", options, CLASSES, notes), "w")
    assert view == PointView(50, "crop", "kept", {"colour": 3}, ("colour",), "z")
    with pytest.raises(WeightsError, match="w: expected a network that labels points, a 'segmenter', got a 'basic'"):
        point_view_of(Description("basic", {}), "w")
    for data in (None, "far", {"points": -1}, {"points": 5, "part": "half"}, {"points": 5, "up": 3}):
        with pytest.raises(WeightsError, match="w: expected a valid view of points in its notes, got"):
            point_view_of(Description("segmenter", options, CLASSES, {"data": data}), "w")


def test_what_an_answer_can_tell() -> None:
    found = Segmentation(np.array([1, 1, 0], np.int16), np.ones(3, np.float32), CLASSES)
    assert found.names.tolist() == ["high", "high", "low"]
    assert found.counts() == {"low": 1, "high": 2}
