"""Regression as a task: loss, totals of training, figures per split; and whole runs that stop and go on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.numbers import TARGET, write_ellipsoids
from helpers.runs import rows, same, weights
from lightning.pytorch import Trainer
from torch import nn
from torch.utils.data import DataLoader

from sampled_transformer.data import Batch, read_pack, write_pack
from sampled_transformer.inference.target import Target
from sampled_transformer.training.regress import Regress
from sampled_transformer.training.run import BEST_ON_VALIDATION, train
from sampled_transformer.training.settings import DataOptions, OptimiserOptions, Settings, TrainerOptions
from sampled_transformer.weights import load_model

SMALL = {"dim": 16, "heads": 2, "hidden": 16, "embedding": 8, "dropout": 0.1}


class First(nn.Module):
    """Answers with the first coordinate."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, points: torch.Tensor, normals: torch.Tensor | None) -> torch.Tensor:
        return points[:, 0, :1] * self.scale


def batch(answers: list[float], labels: list[float]) -> Batch:
    return Batch(torch.ones(len(answers), 2, 3) * torch.tensor(answers)[:, None, None], None, torch.tensor(labels))


def fit(task: Regress, training: list[Batch], splits: list[list[Batch]]) -> None:
    def loader(batches: list[Batch]) -> DataLoader:
        return DataLoader(batches, batch_size=None, collate_fn=lambda one: one)  # type: ignore[arg-type]

    quiet = {"enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(accelerator="cpu", max_epochs=1, num_sanity_val_steps=0, logger=False, **quiet)
    trainer.fit(task, loader(training), [loader(split) for split in splits])


@pytest.mark.filterwarnings("ignore")
def test_figures_of_an_epoch() -> None:
    task = Regress(First(), Target("y", 5.0, 10.0), OptimiserOptions(rate=1e-9), splits=("validation", "test"))
    found: dict[str, float] = {}
    taken = task.take_totals
    task.on_train_epoch_end = lambda: found.update(taken())  # type: ignore[method-assign]
    fit(
        task,
        [batch([1.0, 0.0], [1.0, 0.5]), batch([3.0, 0.0], [0.0, 0.0])],
        [[batch([1.0, 2.0], [1.0, 2.0])], [batch([1.0, 0.0, 9.0], [2.0, 0.0, math.nan]), batch([4.0], [4.0])]],
    )
    assert found["train_loss"] == pytest.approx((0.5**2 / 2 + (3 - 0.5)) / 4)  # Huber: quadratic, then linear
    assert found["train_mae"] == pytest.approx(10 * 3.5 / 4)
    figures = task.figures()
    assert figures == task.figures()
    assert figures["validation_r2"] == 1
    assert figures["test_mae"] == pytest.approx(10 / 3)  # the label NaN is padding
    assert figures["test_rmse"] == pytest.approx(10 / 3**0.5)
    assert figures["test_r2"] == pytest.approx(1 - 1 / 8)
    assert task.shown({"train_mae": 8.75, **figures}) == ["train MAE 8.75", "validation R2 1.0000", "test R2 0.8750"]
    assert task.confusion_rows() == []


@pytest.mark.filterwarnings("ignore")
def test_answers_that_are_not_finite_are_refused() -> None:
    task = Regress(First(), Target("y", 0.0, 1.0), OptimiserOptions(rate=1e-9))
    fit(task, [batch([1.0, 0.0], [1.0, 0.0])], [[batch([math.nan], [1.0])]])
    with pytest.raises(ValueError, match=r"answers are no longer finite: lower --optimiser\.rate"):
        task.figures()


@pytest.fixture
def settings(numbers_folder: Path, tmp_path: Path) -> Settings:
    data = DataOptions(str(numbers_folder), points=24, batch=8)
    return Settings(data, str(tmp_path / "run"), options=SMALL, epochs=3, trainer=TrainerOptions("cpu"))


def test_a_run_learns_and_keeps_the_scale_with_the_weights(regressor: Path) -> None:
    result = json.loads((regressor / "result.json").read_text("utf-8"))
    last = result["figures"]["last epoch"]
    assert last["test_r2"] > 0.8
    assert last["test_mae"] < 10  # of heights with a deviation of about 23
    assert list(rows(regressor)[-1]) == [
        *("epoch", "train_loss", "train_mae", "test_mae", "test_rmse", "test_r2"),
        *("gradient_norm", "learning_rate", "seconds"),
    ]
    network, description = load_model(regressor)
    assert description.classes == ()
    assert description.options["classes"] == 1
    assert description.notes["regression"] == result["regression"]
    assert description.notes["regression"]["name"] == TARGET
    assert description.notes["data"]["preset"] == "resampled"
    assert network(torch.randn(2, 32, 3), None).shape == (2, 1)


@pytest.mark.parametrize("model", ["hierarchical", "set-transformer", "mae-classifier"])
def test_the_other_networks_learn_numbers_too(settings: Settings, model: str) -> None:
    options = {
        "hierarchical": {},
        "set-transformer": {"dim": 16, "heads": 2},
        "mae-classifier": {"dim": 16, "heads": 2, "depth": 1, "hidden": 16, "groups": 4, "group_size": 8},
    }[model]
    result = train(replace(settings, model=model, options=options, epochs=1, attention="dense"))
    assert math.isfinite(result["figures"]["last epoch"]["test_rmse"])


@pytest.mark.parametrize("step", [2, 6])
def test_interrupted_and_resumed_is_the_same_run(
    settings: Settings, tmp_path: Path, interrupt: Callable[[int], None], step: int
) -> None:
    settings = replace(settings, data=replace(settings.data, validation=0.25))
    whole = replace(settings, out=str(tmp_path / "whole"))
    result = train(whole)
    interrupt(step)
    with pytest.raises(KeyboardInterrupt, match=r"stopped in epoch \d of 3; go on with: .* --out .*run --resume"):
        train(settings)
    assert train(settings, resume=True)["finished"]
    assert same(weights(settings.out), weights(whole.out))
    kept = [{name: row[name] for name in row if name != "seconds"} for row in rows(settings.out)]
    assert kept == [{name: row[name] for name in row if name != "seconds"} for row in rows(whole.out)]
    best = result["figures"][BEST_ON_VALIDATION]
    assert best["validation_rmse"] == min(float(row["validation_rmse"]) for row in rows(whole.out))
    assert load_model(Path(whole.out, "model-best.safetensors"))[1].notes["figures"]["epoch"] == best["epoch"]


def test_label_smoothing_is_refused_if_somebody_asks_for_it(settings: Settings) -> None:
    with pytest.raises(
        ValueError, match=r"optimiser\.label_smoothing: expected 0, because the labels are numbers, got"
    ):
        train(replace(settings, optimiser=OptimiserOptions(label_smoothing=0.2)))
    assert not Path(settings.out).exists()


def test_a_run_starts_from_another_one(settings: Settings, regressor: Path, tmp_path: Path, capsys) -> None:
    own = replace(settings, options={}, init=str(regressor), epochs=1, optimiser=OptimiserOptions(rate=1e-9))
    result = train(own)
    assert "27 of 27 tensors loaded" in capsys.readouterr().out
    assert result["figures"]["last epoch"]["test_r2"] > 0.7  # the head is kept
    other = write_ellipsoids(tmp_path / "other")
    for split in ("train", "test"):
        write_pack(replace(read_pack(other, split), target_name="width"), other / f"{split}.npz")
    train(replace(own, data=replace(own.data, source=str(other)), out=str(tmp_path / "second")))
    assert "25 of 27 tensors loaded; new: head.weight, head.bias" in capsys.readouterr().out
