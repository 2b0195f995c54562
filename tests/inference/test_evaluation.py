from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from sampled_transformer.data import DataError, write_pack
from sampled_transformer.inference.evaluation import ONE_PASS, evaluate, table
from sampled_transformer.inference.trained import cycle_probabilities
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, WeightsError, load_model, save_model

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}
CLASSES = ("needle", "disc", "ball")


def save(path: Path, classes=CLASSES, notes=None, **options) -> Path:
    torch.manual_seed(0)
    options = {"classes": len(classes), **SMALL, **options}
    network = create_model("basic", **options).eval()
    with torch.no_grad():
        network.head.weight.mul_(20)  # otherwise all answers would be the same class
    save_model(network, path, Description("basic", options, classes, notes or {}))
    return path


@pytest.fixture
def weights(tmp_path, pack_folder) -> Path:
    data = {"source": str(pack_folder), "root": None, "preset": "bricks", "points": 24, "normals": True}
    return save(tmp_path / "model.safetensors", notes={"data": data})


def test_every_way_to_ask_is_labelled_and_counted_by_hand(weights, pack_folder, make_pack):
    result = evaluate(weights, samples=3, votes=2, batch=4)
    assert list(result["figures"]) == [ONE_PASS, "averaged over 3 cycles", "voted over 2 augmentations"]
    pack = make_pack(5, 1)
    batch = pack.batch(slice(None))
    network = load_model(weights)[0]
    answers = []
    for seed in range(3):
        network.blocks[0].attention.seed = seed
        with torch.no_grad():
            answers.append(network(batch.points[:, :24], batch.normals[:, :24]).softmax(1))
    for name, answer in ((ONE_PASS, answers[0]), ("averaged over 3 cycles", torch.stack(answers).mean(0))):
        right = (answer.argmax(1) == batch.labels).double()
        assert result["figures"][name]["accuracy"] == pytest.approx(float(right.mean()))
        by_class = [float(right[batch.labels == label].mean()) for label in range(3)]
        assert result["figures"][name]["mean_class_accuracy"] == pytest.approx(np.mean(by_class))
    assert [row["accuracy"] for row in result["classes"]] == pytest.approx(
        [float((answers[0].argmax(1) == batch.labels)[batch.labels == label].double().mean()) for label in range(3)]
    )
    assert np.sum(result["confusion"]) == 15
    assert evaluate(weights, samples=3, votes=2, batch=15)["figures"] == result["figures"]
    text = table(result)
    assert "15 test shapes, 24 points" in text
    assert "voted over 2 augmentations" in text


def test_cycles_are_asked_and_put_back(weights, make_pack):
    network = load_model(weights)[0]
    layer = network.blocks[0].attention
    layer.seed = 7
    batch = make_pack(2, 0).batch(slice(None))
    probabilities = cycle_probabilities(network, batch.points, batch.normals, 4)
    assert probabilities.shape == (4, 6, 3)
    assert layer.seed == 7
    assert float(probabilities.std(0).max()) > 0
    dense = create_model("basic", classes=3, attention="dense", **SMALL).eval()
    probabilities = cycle_probabilities(dense, batch.points, batch.normals, 4)
    assert probabilities.shape == (4, 6, 3)
    assert float(probabilities.std(0).max()) == 0


@pytest.mark.parametrize("attention", ["dense", "summed"])
def test_a_network_without_cycles_has_no_average(tmp_path, pack_folder, attention):
    path = save(tmp_path / "w.safetensors", notes={"data": {"points": 24}}, attention=attention)
    assert list(evaluate(path, str(pack_folder), samples=4)["figures"]) == [ONE_PASS]


def test_classes_are_matched_by_name(weights, tmp_path, make_pack):
    pack = make_pack(5, 1)
    turned = replace(pack, classes=("ball", "disc", "needle"), labels=2 - pack.labels)
    folder = tmp_path / "turned"
    folder.mkdir()
    write_pack(turned, folder / "test.npz")
    assert evaluate(weights, str(folder))["confusion"] == evaluate(weights)["confusion"]
    few = pack.select(pack.labels < 2)
    write_pack(replace(few, classes=("needle", "disc")), folder / "test.npz")
    result = evaluate(weights, str(folder))
    assert result["classes"][2] == {"class": "ball", "shapes": 0, "accuracy": None}
    assert "ball" in table(result)
    write_pack(replace(pack, classes=("needle", "disc", "cube")), folder / "test.npz")
    with pytest.raises(DataError, match="expected the 3 classes of the network, got 'cube'"):
        evaluate(weights, str(folder))


def test_what_cannot_be_evaluated(weights, tmp_path, make_pack):
    with pytest.raises(ValueError, match="data: expected a data set"):
        evaluate(save(tmp_path / "silent.safetensors"))
    with pytest.raises(ValueError, match="samples: expected at least 1, got 0"):
        evaluate(weights, samples=0)
    with pytest.raises(WeightsError, match="expected a valid preset and 1 to 131,072 points in its notes"):
        evaluate(save(tmp_path / "odd.safetensors", notes={"data": {"points": "many"}}))
    with pytest.raises(ValueError, match="device: expected a device that works here, got 'toaster'"):
        evaluate(weights, device="toaster")
    write_pack(make_pack(5, 1, points=20), tmp_path / "test.npz")
    with pytest.raises(DataError, match="expected at least 24 points per shape, got 20"):
        evaluate(weights, str(tmp_path))
    write_pack(make_pack(5, 1, normals=False), tmp_path / "test.npz")
    with pytest.raises(DataError, match="expected normals, got none"):
        evaluate(weights, str(tmp_path))
