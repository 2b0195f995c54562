"""Fitting on what was held out: what is stored, what it does to answers, and what cannot be fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from sampled_transformer.data import DataError, write_pack
from sampled_transformer.inference.calibrate import HeldOut, calibrate, lines
from sampled_transformer.inference.evaluation import evaluate, table
from sampled_transformer.inference.trained_network import load
from sampled_transformer.models import create_model
from sampled_transformer.weights import Description, WeightsError, load_beside, load_model, save_model

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8}
CLASSES = ("needle", "disc", "ball")


@pytest.fixture
def folder(tmp_path: Path, make_pack) -> Path:
    write_pack(make_pack(40, 0), tmp_path / "train.npz")
    write_pack(make_pack(10, 1), tmp_path / "test.npz")
    return tmp_path


def save(path: Path, folder: Path, half: bool = False, attention: str = "sampled", **notes: object) -> Path:
    torch.manual_seed(0)
    options = {"classes": 3, "attention": attention, **SMALL}
    network = create_model("basic", **options)
    with torch.no_grad():
        network.head.weight.mul_(20)  # far too sure
    data = {"source": str(folder), "root": None, "preset": "bricks", "points": 24, "normals": True, "validation": 0.5}
    description = Description("basic", options, CLASSES, {"data": data, "seed": 3, **notes})
    save_model(network.half() if half else network, path, description)
    return path


def test_the_temperature_and_the_statistics_are_stored_and_used(folder: Path) -> None:
    weights, out = save(folder / "w.safetensors", folder), folder / "out.safetensors"
    before = weights.read_bytes()
    result = calibrate(weights, out)
    assert weights.read_bytes() == before
    assert (result["held_out"], result["alarms"], result["data"]) == (60, 0.05, str(folder))
    assert result["temperature"] > 1.5
    network, description = load_model(out)
    assert description.notes["calibration"] == {"temperature": result["temperature"], "shapes": 60}
    old = load_model(weights)[0].state_dict()
    assert all(torch.equal(one, old[name]) for name, one in network.state_dict().items())
    ways = result["after"]
    assert list(ways) == ["one pass", "averaged over 8 cycles"]
    for way, row in ways.items():
        assert row["error"] < result["before"][way]["error"]
        assert row["log_loss"] < result["before"][way]["log_loss"]
    assert ways["one pass"]["accuracy"] == result["before"]["one pass"]["accuracy"]
    points = np.random.default_rng(0).normal(size=(50, 3))
    plain, fitted = (load(path).probabilities(points, samples=1) for path in (weights, out))
    tempered = np.log(plain.mean) / result["temperature"]
    assert fitted.mean == pytest.approx(np.exp(tempered) / np.exp(tempered).sum(), abs=1e-5)
    assert (plain.familiar, plain.strangeness) == (None, None)
    assert isinstance(fitted.familiar, bool)
    assert 0 <= fitted.strangeness <= 1


def test_a_network_that_is_not_random_is_asked_once(folder: Path) -> None:
    weights = save(folder / "w.safetensors", folder, attention="dense")
    result = calibrate(weights, weights)
    assert list(result["after"]) == list(result["before"]) == ["one pass"]
    assert len(lines(result)) == 3


def test_evaluation_says_what_it_was_before_and_how_many_look_unfamiliar(folder: Path) -> None:
    weights = save(folder / "w.safetensors", folder)
    plain = evaluate(weights, samples=2)
    temperature = calibrate(weights, weights)["temperature"]
    fitted = evaluate(weights, samples=2, votes=1)
    assert "before" not in plain["calibration"]
    assert plain["calibration"]["temperature"] == 1
    assert fitted["calibration"]["temperature"] == temperature
    for way, row in plain["calibration"]["ways"].items():
        found = fitted["calibration"]["before"][way]
        assert found["error"] == pytest.approx(row["error"], abs=1e-4)
        assert found["probability"] == pytest.approx(row["probability"], abs=1e-4)
    assert fitted["figures"]["one pass"] == plain["figures"]["one pass"]
    assert fitted["familiarity"]["alarms"] == 0.05
    assert fitted["familiarity"]["unfamiliar"] <= 0.2
    text = table(fitted)
    assert f"before the temperature {temperature:.3f}" in text
    assert f"unfamiliar: {100 * fitted['familiarity']['unfamiliar']:.1f} % of these shapes" in text
    assert "unfamiliar" not in table(plain)


def test_fitting_twice_is_fitting_once(folder: Path) -> None:
    weights = save(folder / "w.safetensors", folder, half=True)
    size = weights.stat().st_size
    first = calibrate(weights, weights)
    kept = load_beside(weights)
    assert calibrate(weights, weights) == first
    assert all(torch.equal(one, kept[name]) for name, one in load_beside(weights).items())
    with safe_open(weights, "pt") as file:  # half precision stays
        assert file.get_tensor("head.weight").dtype == torch.float16
    assert weights.stat().st_size < size + 20_000


def test_too_few_shapes_for_the_rate_leave_the_temperature_alone(folder: Path) -> None:
    weights = save(folder / "w.safetensors", folder)
    calibrate(weights, weights)
    result = calibrate(weights, weights, alarms=0.01)
    assert result["alarms"] is None
    assert load(weights).familiarity is None
    assert load_beside(weights) == {}
    assert "60 held-out shapes are too few for a false-alarm rate of 1 %" in lines(result, 0.01)[-1]


def test_other_sets_say_whether_they_are_familiar(folder: Path, make_pack) -> None:
    weights = save(folder / "w.safetensors", folder)
    calibrate(weights, weights, alarms=0.1)
    net = load(weights, batch=4)
    assert net.familiarity is not None
    batch = make_pack(3, 5).batch(slice(None))
    found = net.probabilities(batch.points, batch.normals, samples=2)
    assert found.familiar.shape == found.strangeness.shape == (9,)
    assert np.array_equal(net.familiar(batch.points, batch.normals), found.familiar)
    line = np.c_[np.zeros((60, 2)), np.linspace(-1, 1, 60)]
    assert not net.familiar(line, np.tile([0.0, 0.0, 1.0], (60, 1)))


@pytest.mark.parametrize(
    ("notes", "arguments", "error", "message"),
    [
        ({"data": {"points": 24}}, {}, WeightsError, r"w\.safetensors: expected a network that part of the training"),
        ({"data": {"points": 24}}, {"validation": 0.3}, ValueError, "data: expected a data set, because .* got none"),
        ({"data": [1]}, {"validation": 0.3}, WeightsError, "expected names and values in its note data"),
        ({}, {"validation": 1.0}, ValueError, "validation: expected a share of the training split"),
        ({}, {"seed": -1}, ValueError, "seed: expected 0 or more, got -1"),
        ({"seed": "x"}, {}, ValueError, "seed: expected 0 or more, got x"),
        ({}, {"alarms": 0.0}, ValueError, "alarms: expected more than 0 and less than 1, got 0"),
        ({}, {"alarms": float("nan")}, ValueError, "alarms: expected more than 0"),
        ({}, {"batch": 0}, ValueError, "batch: expected at least 1"),
        ({}, {"source": "nowhere"}, DataError, "nowhere"),
    ],
)
def test_what_cannot_be_fitted(folder: Path, notes: dict, arguments: dict, error: type, message: str) -> None:
    weights = save(folder / "w.safetensors", folder, **notes)
    before = weights.read_bytes()
    with pytest.raises(error, match=message):
        calibrate(weights, weights, **arguments)
    assert weights.read_bytes() == before


def test_other_classes_are_refused(folder: Path, make_pack, tmp_path: Path) -> None:
    weights = save(folder / "w.safetensors", folder)
    (tmp_path / "other").mkdir()
    write_pack(replace(make_pack(4, 0), classes=("a", "b", "c")), tmp_path / "other" / "train.npz")
    with pytest.raises(DataError, match="expected the 3 classes of the network, got others"):
        calibrate(weights, weights, str(tmp_path / "other"))


def test_what_was_held_out_is_noted_or_given() -> None:
    noted = Description("basic", {}, (), {"data": {"validation": 0.1}, "seed": 4})
    assert HeldOut.of(noted, Path("w"), None, None) == HeldOut(0.1, 4)
    assert HeldOut.of(noted, Path("w"), 0.2, 0) == HeldOut(0.2, 0)
