"""What all settings share, on the settings of `train` and `fewshot`."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from sampled_transformer.training.settings import (
    FINE_TUNING,
    DataOptions,
    FewShotSettings,
    OptimiserOptions,
    PretrainSettings,
    Settings,
    TrainerOptions,
)

RUN = Settings(
    DataOptions("my shapes", points=24),
    "runs/a",
    attention="dense",
    options={"dim": 16, "attention_options": {"samples": 2}, "norm": True},
    optimiser=OptimiserOptions(milestones=[5, 7]),
    trainer=TrainerOptions(devices="0,1"),
    recipe="basic-none",
)


def test_the_command_names_what_is_not_usual() -> None:
    assert RUN.command() == (
        "sampled-transformer train --data 'my shapes' --data.points 24 --out runs/a --attention dense "
        "--options.dim 16 --options.attention_options.samples 2 --options.norm true "
        "--optimiser.milestones '[5, 7]' --trainer.devices 0,1"
    )
    assert PretrainSettings(DataOptions("x"), "y").command() == "sampled-transformer pretrain --data x --out y"


def test_positional_arguments_and_switches() -> None:
    settings = FewShotSettings(DataOptions("x"), "y", init="my run", frozen=True, optimiser=FINE_TUNING)
    assert settings.command() == "sampled-transformer fewshot 'my run' --data x --out y --frozen"
    assert shlex.split(settings.first_words()[1]) == ["my run"]


def test_settings_survive_their_file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(RUN.yaml())
    assert Settings.from_file(tmp_path / "config.yaml") == RUN
    assert Settings.from_tree(RUN.tree()) == RUN


def test_a_recipe_with_changes() -> None:
    settings = Settings.from_recipe(
        "basic-dense", out="x", epochs=3, data={"source": "bricks"}, options={"dim": 8}, trainer=TrainerOptions("cpu")
    )
    assert settings == Settings(
        DataOptions("bricks"),
        "x",
        attention="dense",
        options={"batch_norm": True, "dim": 8},
        epochs=3,
        trainer=TrainerOptions("cpu"),
        recipe="basic-dense",
    )
    with pytest.raises(ValueError, match=r"recipe basic-dense: expected an option of `train` .*'epoch'; .*'epochs'\?"):
        Settings.from_recipe("basic-dense", out="x", epoch=3)


def test_unknown_names_in_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("data: bricks\nout: x\noptimiser:\n  lr: 3\n")
    with pytest.raises(ValueError, match=r"mine\.yaml: expected an option of `train` \(.*\), got 'optimiser\.lr'"):
        Settings.from_file(path)


def test_differences_except_those_a_run_may_change() -> None:
    other = Settings.from_tree({**RUN.tree(), "out": "b", "epochs": 99, "recipe": None})
    assert RUN.differences(other) == []
    other = Settings.from_tree({**RUN.tree(), "seed": 3, "options": {"dim": 16, "depth": 2}})
    assert RUN.differences(other) == ["options.attention_options.samples", "options.norm", "seed", "options.depth"]
