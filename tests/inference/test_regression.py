"""Evaluation of a network that predicts a number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.numbers import TARGET, ellipsoids

from sampled_transformer.data import DataError, Pack, write_pack
from sampled_transformer.inference.evaluation import evaluate as evaluate_classes
from sampled_transformer.inference.regression import ask, evaluate, table
from sampled_transformer.inference.trained import cycle_values
from sampled_transformer.weights import WeightsError, load_model


def weights(folder: Path) -> Path:
    return folder / "model.safetensors"


def test_the_figures_of_one_pass_are_those_of_the_run(regressor: Path) -> None:
    last = json.loads((regressor / "result.json").read_text("utf-8"))["figures"]["last epoch"]
    result = evaluate(weights(regressor))
    assert result["target"] == TARGET
    assert result["figures"].keys() == {"one pass"}
    for name, value in result["figures"]["one pass"].items():
        assert value == pytest.approx(last[f"test_{name}"], rel=1e-4)
    errors = np.array([row["answer"] - row["truth"] for row in result["answers"]])
    assert np.abs(errors).mean() == pytest.approx(result["figures"]["one pass"]["mae"])
    assert [row["truth"] for row in result["answers"]] == ellipsoids(17, 1).labels.tolist()  # type: ignore[union-attr]
    json.dumps(result, allow_nan=False)


def test_answers_are_in_the_unit_of_the_target(regressor: Path) -> None:
    network, description = load_model(weights(regressor))
    shapes = ellipsoids(17, 1).batch(slice(None))
    kept = description.notes["regression"]
    own = network(shapes.points[:, :32], None).detach().squeeze(1).double() * kept["deviation"] + kept["mean"]
    np.testing.assert_allclose(ask(weights(regressor)).values(), own.numpy(), rtol=1e-5)
    assert 250 < own.mean() < 350


def test_averages_have_their_own_names(regressor: Path) -> None:
    result = evaluate(weights(regressor), samples=4, votes=2, batch=5)
    assert list(result["figures"]) == ["one pass", "averaged over 4 cycles", "averaged over 2 augmentations"]
    assert result["figures"]["one pass"] == pytest.approx(evaluate(weights(regressor))["figures"]["one pass"])
    assert 0 < result["spread"] < 50
    text = table(result)
    assert f"{TARGET} of 17 test shapes, 32 points" in text
    assert "averaged over 4 cycles         MAE " in text
    worst = result["largest_errors"]
    assert len(worst) == 10
    sizes = [abs(row["truth"] - row["answer"]) for row in worst]
    assert sizes == sorted(sizes, reverse=True)
    assert max(abs(row["truth"] - row["answer"]) for row in result["answers"]) == sizes[0]
    assert worst[0]["name"] in text


def test_other_data_and_other_weights_are_refused(regressor: Path, pack_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected shapes with numbers to predict, got classes"):
        evaluate(weights(regressor), str(pack_folder))
    pack = ellipsoids(4, 2)
    write_pack(Pack(pack.points, labels=pack.labels, target_name="width"), tmp_path / "test.npz")
    with pytest.raises(DataError, match=f"expected {TARGET}, which the network predicts, got width"):
        evaluate(weights(regressor), str(tmp_path))
    with pytest.raises(
        WeightsError, match=rf"expected a classifier, got a network that predicts a number \({TARGET}\)"
    ):
        evaluate_classes(weights(regressor))
    with pytest.raises(ValueError, match="samples: expected at least 1, got 0"):
        evaluate(weights(regressor), samples=0)


def test_values_of_several_cycles_differ(regressor: Path) -> None:
    network = load_model(regressor)[0]
    points = torch.randn(2, 32, 3, generator=torch.Generator().manual_seed(0))
    values = cycle_values(network, points, None, 3)
    assert values.shape == (3, 2)
    assert len(set(values[:, 0].tolist())) == 3
    assert torch.equal(values, cycle_values(network, points, None, 3))
    assert values[0].tolist() == pytest.approx(network(points, None).squeeze(1).tolist())
