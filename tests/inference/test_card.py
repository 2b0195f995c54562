from __future__ import annotations

from sampled_transformer.inference.card import facts
from sampled_transformer.weights import Description


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
        "Classes": "a, b",
    }


def test_a_regression_names_its_target() -> None:
    target = {"name": "drag", "mean": 0.3, "deviation": 0.1}
    found = facts(Description("basic", {}, (), {"regression": target, "figures": {"test_r2": 0.5}}), "x")
    assert found == {"Predicts": "drag", "Test R² after the last epoch": "0.5000"}


def test_labels_per_point_have_a_mean_iou() -> None:
    figures = {"test_mean_iou": 0.625, "test_accuracy": 0.9}
    found = facts(Description("segmenter", {}, (), {"figures": figures}), "x")
    assert found["Test mean IoU after the last epoch"] == "62.50 %"


def test_notes_of_somebody_else_are_no_error() -> None:
    assert facts(Description("basic", {}, (), {"data": "far away", "figures": [1]}), "x") == {}
