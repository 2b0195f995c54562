"""Figures of a trained network on labels per point."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.point_packs import SMALL, halves, save_segmenter, settings
from helpers.runs import rows

from sampled_transformer.data import Pack, write_pack
from sampled_transformer.data.axes import turn_pack
from sampled_transformer.data.errors import DataError
from sampled_transformer.inference.iou import iou_figures, point_confusion
from sampled_transformer.inference.segment_evaluation import evaluate_points, measure, parts_of_kinds, table
from sampled_transformer.models import create_model
from sampled_transformer.training.point_loading import PointView
from sampled_transformer.training.segment import segment
from sampled_transformer.weights import load_model


def write(folder: Path, pack: Pack) -> str:
    folder.mkdir(exist_ok=True)
    write_pack(pack, folder / "test.npz")
    return str(folder)


def test_the_figures_are_those_of_the_run(segmenter: Path, halves_folder: Path) -> None:
    result = evaluate_points(segmenter / "model.safetensors")
    last = rows(segmenter)[-1]
    assert result["mean_iou"] == pytest.approx(float(last["test_mean_iou"]), abs=1e-4)
    assert result["accuracy"] == pytest.approx(float(last["test_accuracy"]), abs=1e-4)
    assert (result["data"], result["split"], result["sets"], result["points"]) == (str(halves_folder), "test", 4, 64)
    assert json.loads(json.dumps(result)) == result
    assert np.sum(result["confusion"]) == 4 * 64
    assert [one["class"] for one in result["classes"]] == ["low", "high"]
    assert 0.5 < result["instance_mean_iou"] <= 1
    text = table(result)
    assert f"mean IoU {100 * result['mean_iou']:.2f} %" in text
    assert "4 sets of" in text
    assert evaluate_points(segmenter / "model.safetensors", split="train")["sets"] == 12
    small = evaluate_points(segmenter / "model.safetensors", batch=1)
    assert small["confusion"] == result["confusion"]


def test_what_features_contribute(segmenter: Path) -> None:
    result = evaluate_points(segmenter / "model.safetensors", without=("normals", "colour"))
    assert result["without"] == ["normals", "colour"]
    assert result["mean_iou"] > 0
    assert ", without normals, colour" in table(result)
    with pytest.raises(ValueError, match=r"without: expected what the network can do without \(.*\), got 'height'"):
        evaluate_points(segmenter / "model.safetensors", without=("height",))


def test_ignored_points_never_count(tmp_path: Path) -> None:
    weights = save_segmenter(tmp_path / "w.safetensors")
    pack = halves(3)
    labels = pack.point_labels.copy()
    labels[:, ::2] = -1
    labels[2] = -1
    result = evaluate_points(weights, write(tmp_path / "pack", replace(pack, point_labels=labels)))
    assert np.sum(result["confusion"]) == 64
    network, _ = load_model(weights)
    with torch.no_grad():
        own = torch.from_numpy(np.stack([PointView(64).place(pack.coordinates(number)) for number in range(3)]))
        answers = network(own.float()).argmax(2)
    expected = iou_figures(point_confusion(torch.from_numpy(labels).long().flatten(), answers.flatten(), 2))
    assert result["mean_iou"] == pytest.approx(expected["mean_iou"])


def test_large_scenes_are_measured_in_tiles(tmp_path: Path) -> None:
    """Without attention a point reads no further than the margin of its tile, so that hardly an answer differs."""
    weights = save_segmenter(tmp_path / "w.safetensors", {"part": "crop", "size": "kept"}, positions="z")
    network, _ = load_model(weights)
    passes: list[int] = []
    network.register_forward_hook(lambda module, args, output: passes.append(len(output)))
    view = PointView(500, "crop", "kept")
    points = np.random.default_rng(0).uniform(0, [40, 40, 1], (6000, 3))
    labels = (points[:, 2] > 0.5).astype(np.int16)
    pack = Pack.from_arrays([points], point_labels=[labels], point_classes=("low", "high"), keep_size=True)
    whole, tiled = (measure(network, pack, view, 1, (), 1, most=most) for most in (None, 2000))
    assert passes[0] == 6000
    assert len(passes) >= 6
    assert max(passes[1:]) < 6000
    assert np.sum(tiled["confusion"]) == np.sum(whole["confusion"]) == 6000
    assert np.abs(np.subtract(tiled["confusion"], whole["confusion"])).sum() < 120
    write_pack(halves(1, 50), tmp_path / "test.npz")
    with pytest.raises(ValueError, match=r"memory: expected more than 0\.7 gigabytes, got 0\.5"):
        evaluate_points(weights, str(tmp_path), memory=0.5)


def test_categories_are_asked_for_their_own_parts() -> None:
    generator = np.random.default_rng(0)
    kinds = np.array([0, 1, 1])
    labels = [generator.integers(0, 2, 30) + 2 * kind for kind in kinds]
    pack = Pack.from_arrays(
        generator.uniform(-1, 1, (3, 30, 3)),
        labels=kinds,
        classes=("chair", "lamp"),
        point_labels=labels,
        point_classes=("seat", "leg", "foot", "shade"),
    )
    assert parts_of_kinds(pack).tolist() == [[True, True, False, False], [False, False, True, True]]
    torch.manual_seed(0)
    network = create_model("segmenter", classes=4, **SMALL).eval()
    result = measure(network, pack, PointView(30), 1, (), 2)
    with torch.no_grad():
        own = torch.from_numpy(np.stack([PointView(30).place(pack.coordinates(number)) for number in range(3)]))
        scores = network(own.float()).softmax(2)
    ious = []
    for number, kind in enumerate(kinds):
        answer = scores[number, :, 2 * kind : 2 * kind + 2].argmax(1).numpy() + 2 * kind
        true = labels[number]
        per_part = []
        for part in (2 * kind, 2 * kind + 1):
            both, either = ((true == part) & (answer == part)).sum(), ((true == part) | (answer == part)).sum()
            per_part.append(both / either if either else 1.0)
        ious.append(np.mean(per_part))
    assert result["instance_mean_iou"] == pytest.approx(np.mean(ious))
    assert result["category_mean_iou"] == pytest.approx((ious[0] + (ious[1] + ious[2]) / 2) / 2)


def test_data_turned_in_training_is_turned_in_evaluation(tmp_path: Path) -> None:
    folder = tmp_path / "pack"
    folder.mkdir()
    for split, sets in (("train", 8), ("test", 3)):  # files with y up that do not say so
        lying = replace(turn_pack(halves(sets, points=32), "z", "y"), up="")
        write_pack(lying, folder / f"{split}.npz")
    segment(settings(folder, tmp_path / "run", 3, data={"up": "y", "features": [], "normals": False}))
    result = evaluate_points(tmp_path / "run" / "model.safetensors")
    assert result["accuracy"] == pytest.approx(float(rows(tmp_path / "run")[-1]["test_accuracy"]), abs=1e-4)


def test_data_that_does_not_fit_is_refused(segmenter: Path, tmp_path: Path) -> None:
    weights = segmenter / "model.safetensors"
    other = halves(2, point_classes=("high", "low"))
    with pytest.raises(DataError, match="expected the point classes of the network, low, high, got high, low"):
        evaluate_points(weights, write(tmp_path / "a", other))
    with pytest.raises(DataError, match="expected point_labels, the class of every point, got none"):
        evaluate_points(weights, write(tmp_path / "b", replace(halves(2), point_labels=None, point_classes=())))
    needy = save_segmenter(tmp_path / "w.safetensors", features={"height": 1})
    with pytest.raises(DataError, match="expected the feature 'height', which the network reads, got none"):
        evaluate_points(needy, write(tmp_path / "c", halves(2)))
    with pytest.raises(ValueError, match=r"data: expected a data set, because .* does not name its own, got none"):
        evaluate_points(needy)
    for name in ("samples", "batch"):
        with pytest.raises(ValueError, match=f"{name}: expected at least 1, got 0"):
            evaluate_points(weights, **{name: 0})
