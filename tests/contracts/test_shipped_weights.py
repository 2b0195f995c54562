"""The weights that come with the package: small, whole, and as good as docs/results/weights.md says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh

from sampled_transformer.cli import main
from sampled_transformer.weights import describe_model, find_weights, list_pretrained, load_model

MODELS = {
    "brick-parts": "segmenter",
    "mixtures": "set-transformer-mixture",
    "modelnet40-mae": "mae",
    "modelnet40-points": "pyramid",
    "modelnet40-robust": "pyramid",
}
ATTENTION = {"brick-parts": "rotary", "modelnet40-points": "none", "modelnet40-robust": "none"}
RESULTS = Path(__file__).parents[2] / "results" / "weights"


@pytest.mark.parametrize("name", list_pretrained())
def test_small_and_silent_about_the_machine_that_made_them(name: str) -> None:
    path = find_weights(name)
    assert path.stat().st_size <= 4_000_000
    description = describe_model(path)
    assert description.model == MODELS.get(name, "basic")
    if name == "mixtures":
        assert description.options["attention_options"]["reading"] == "columns"
    else:
        assert description.options["attention"] == ATTENTION.get(name, "sampled")
    assert description.notes["data"].get("root") is None
    assert "/" not in json.dumps(description.notes)


def test_bricks_are_as_good_as_the_results_say(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "bricks", "--samples", "8", "--json", "--no-report"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    stored = json.loads((RESULTS / "bricks.json").read_text("utf-8"))["figures"]
    for kind in ("one pass", "averaged over 8 cycles"):
        # One of 408 parts may fall to the other side where another machine rounds otherwise.
        assert figures[kind]["accuracy"] == pytest.approx(stored[kind]["accuracy"], abs=1.01 / 408)


def test_a_cone_is_a_cone_without_any_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cone = trimesh.creation.cone(radius=0.5, height=1.2)
    cone.export(tmp_path / "shape.off")
    assert main(["predict", str(tmp_path / "shape.off"), "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)
    assert answer["classes"][0]["class"] == "cone"
    assert answer["classes"][0]["probability"] > 0.5


def test_the_autoencoder_rebuilds_a_shape_without_any_training(tmp_path: Path) -> None:
    cone = trimesh.creation.cone(radius=0.5, height=1.2)
    cone.export(tmp_path / "shape.off")
    assert main(["reconstruct", str(tmp_path / "shape.off"), "--out", str(tmp_path / "clouds")]) == 0
    points = torch.from_numpy(trimesh.load(tmp_path / "clouds" / "original.ply").vertices).float()[None]
    network = load_model(find_weights("modelnet40-mae"))[0]
    with torch.inference_mode():
        outcome = network.reconstruct(points, torch.Generator().manual_seed(0))
        flat = outcome._replace(rebuilt=torch.zeros_like(outcome.rebuilt))  # every point in the middle of its group
    assert outcome.loss().item() < 0.35 * flat.loss().item()


def test_a_classifier_begins_with_the_autoencoder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "--model", "mae-classifier", "--init", "modelnet40-mae", "--data", str(tmp_path / "shapes")]
    for split in ("train", "test"):
        for label, solid in {"box": trimesh.creation.box(), "ball": trimesh.creation.icosphere(2)}.items():
            folder = tmp_path / "shapes" / split / label
            folder.mkdir(parents=True)
            for number in range(2):
                solid.export(folder / f"{number}.stl")
    assert main([*words, "--epochs", "1", "--out", str(tmp_path / "run"), "--data.points", "128"]) == 0
    assert "encoder.embedding (" in capsys.readouterr().out
    assert load_model(tmp_path / "run" / "model.safetensors")[1].options["attention_options"] == {"cycles": "per-head"}


def test_mixtures_are_found_without_any_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    centres = np.array([[10.0, 0.0], [-20.0, 5.0], [0.0, 30.0], [25.0, 25.0]])
    random = np.random.default_rng(0)
    points = centres[random.integers(4, size=400)] + random.normal(scale=1.5, size=(400, 2))
    np.savetxt(tmp_path / "points.csv", points, delimiter=",")
    assert main(["cluster", "fit", str(tmp_path / "points.csv"), "--json", "--no-report"]) == 0
    found = np.array([cluster["mean"] for cluster in json.loads(capsys.readouterr().out)["clusters"]])
    distances = np.linalg.norm(found[:, None] - centres, axis=-1)
    assert distances.min(0).max() < 1.5  # every centre has a mean within a deviation


def test_mixtures_are_as_good_as_the_results_say(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    assert main(["cluster", "evaluate", "mixtures", "--json", "--no-report"]) == 0
    figures = json.loads(capsys.readouterr().out)["figures"]
    stored = json.loads((RESULTS / "mixtures.json").read_text("utf-8"))["figures"]["one pass"]
    assert figures == pytest.approx(stored, abs=1e-4)
