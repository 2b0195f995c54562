from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from sampled_transformer.support.trees import help_texts
from sampled_transformer.training.settings import (
    DataOptions,
    FewShotSettings,
    OptimiserOptions,
    PretrainSettings,
    Settings,
    TrainerOptions,
)


@pytest.mark.parametrize(
    "kind", [DataOptions, OptimiserOptions, TrainerOptions, Settings, PretrainSettings, FewShotSettings]
)
def test_every_option_has_its_help_text_once(kind: type) -> None:
    texts = help_texts(kind)
    assert set(texts) == {field.name for field in fields(kind)}
    assert all(text[0].isupper() and text.endswith(".") for text in texts.values())


def test_the_mechanism_is_sampled_unless_weights_decide() -> None:
    assert Settings(DataOptions("x"), "-").attention == "sampled"
    assert Settings(DataOptions("x"), "-", init="w").attention == ""
    assert FewShotSettings(DataOptions("x"), "-", init="w").attention == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out": ""}, "out: expected the folder of the run, --out runs/name, got nothing"),
        ({"epochs": 0}, "epochs: expected at least 1, got 0"),
        ({"seed": -1}, "seed: expected 0 to 4294967295, got -1"),
    ],
)
def test_settings_that_cannot_be(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**{"data": DataOptions("x"), "out": "-", **change})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"validation": 1.0}, "data.validation: expected 0 or more and less than 1"),
        ({"batch": 1}, "data.batch: expected at least 2 shapes, got 1"),
        ({"points": 0}, "data.points: expected at least 1, got 0"),
    ],
)
def test_data_that_cannot_be(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataOptions("x", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "optimiser.rate: expected a positive number, got 0.0"),
        ({"rate": float("nan")}, "optimiser.rate: expected a positive number"),
        ({"label_smoothing": 1.0}, "optimiser.label_smoothing"),
        ({"clip": -1.0}, "optimiser.clip: expected 0 or more"),
        ({"warmup": -1.0}, "optimiser.warmup: expected 0 or more"),
        ({"decay_epochs": 0}, "optimiser.decay_epochs"),
        ({"milestones": [0]}, r"optimiser.milestones: expected epochs from 1 on, got \[0\]"),
    ],
)
def test_optimisers_that_cannot_be(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        OptimiserOptions(**options)


def test_settings_load_no_torch() -> None:
    program = "import sys, sampled_transformer.training.settings, sampled_transformer.clustering.settings; "
    subprocess.run([sys.executable, "-c", program + "sys.exit('torch' in sys.modules)"], check=True)
