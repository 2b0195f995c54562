from __future__ import annotations

import pytest

from sampled_transformer.inference.card import facts
from sampled_transformer.weights import Description, WeightsError


def test_facts_are_what_the_description_knows() -> None:
    notes = {
        "data": {"source": "bricks", "points": 256},
        "figures": {"test_accuracy": 0.73529},
        "epochs": 20,
        "recipe": None,
    }
    found = facts(Description("basic", {}, ("a", "b"), notes), "x")
    assert found == {
        "Trained on": "bricks",
        "Points per set": "256",
        "Epochs": "20",
        "Test accuracy after the last epoch": "73.53 %",
        "Probabilities": "not calibrated, and unfamiliar files pass unnoticed (`calibrate` changes both)",
        "Classes": "a, b",
    }
    calibrated = facts(Description("basic", {}, ("a", "b"), {**notes, "calibration": {"temperature": 0.5}}), "x")
    assert "Probabilities" not in calibrated


def test_a_regression_names_its_target() -> None:
    target = {"name": "drag", "mean": 0.3, "deviation": 0.1}
    found = facts(Description("basic", {}, (), {"regression": target, "figures": {"test_r2": 0.5}}), "x")
    assert found == {"Predicts": "drag", "Test R² after the last epoch": "0.5000"}


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({"data": "far away"}, "x: expected names and values in its note data, got far away"),
        ({"figures": [1]}, "x: expected names and values in its note figures"),
        ({"figures": {"test_accuracy": "high"}}, "x: expected a number in its note figures.test_accuracy, got high"),
        ({"calibration": {"temperature": "hot"}}, "x: expected a temperature of 0.05 to 20 in its notes"),
        ({"familiarity": {"alarms": []}}, "x: expected a number in its note familiarity.alarms"),
    ],
)
def test_notes_of_another_type_are_named(notes: dict, message: str) -> None:
    with pytest.raises(WeightsError, match=message):
        facts(Description("basic", {}, (), notes), "x")


def test_who_gives_no_class_to_a_set_has_nothing_to_calibrate() -> None:
    notes = {"figures": {"train_loss": 1.0}}
    for model in ("mae", "segmenter", "set-transformer-mixture"):
        assert "Probabilities" not in facts(Description(model, {}, ("a", "b"), notes), "x")
    assert "Probabilities" in facts(Description("basic", {}, ("a", "b"), notes), "x")


def test_labels_per_point_have_a_mean_iou() -> None:
    figures = {"test_mean_iou": 0.625, "test_accuracy": 0.9}
    found = facts(Description("segmenter", {}, (), {"figures": figures}), "x")
    assert found["Test mean IoU after the last epoch"] == "62.50 %"
