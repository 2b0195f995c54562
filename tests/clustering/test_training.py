"""Runs of amortised clustering really made, on networks small enough for seconds."""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.runs import same, weights

from sampled_transformer.clustering import training
from sampled_transformer.clustering.settings import ClusterSettings, MixtureOptions
from sampled_transformer.clustering.training import ClusterRun, train
from sampled_transformer.support.signals import Stopped
from sampled_transformer.training.checkpoints import read_checkpoint
from sampled_transformer.training.recipes import list_recipes
from sampled_transformer.training.run_folder import claimed, read_settings
from sampled_transformer.weights import load_model

SMALL = {"dim": 8, "heads": 2, "attention_options": {"inducing": 4, "reading": "columns"}}
DATA = MixtureOptions(points=(10, 20))


@pytest.fixture
def settings(tmp_path: Path) -> ClusterSettings:
    pytest.importorskip("sklearn")
    return ClusterSettings(str(tmp_path / "run"), options=SMALL, data=DATA, steps=12, batch=3, every=4, sets=10)


def figures_of_training(folder: str | Path) -> list[list[str]]:
    """The table of figures without the seconds."""
    with open(Path(folder, "metrics.csv"), newline="") as file:
        return [row[:-1] for row in csv.reader(file)]


def interrupt_after(monkeypatch: pytest.MonkeyPatch, step: int, number: int = signal.SIGINT) -> None:
    usual = ClusterRun.train_step

    def interrupted(run: ClusterRun) -> float | None:
        value = usual(run)
        if run.step == step:
            os.kill(os.getpid(), number)
        return value

    monkeypatch.setattr(ClusterRun, "train_step", interrupted)


def test_a_run_leaves_its_files(settings: ClusterSettings) -> None:
    result = train(settings)
    folder = Path(settings.out)
    assert {path.name for path in folder.iterdir()} == {
        "config.yaml",
        "metrics.csv",
        "last.ckpt",
        "previous.ckpt",
        "model.safetensors",
        "result.json",
    }
    assert json.loads((folder / "result.json").read_text()) == result
    assert result["figures"]["oracle_LL0"] > result["figures"]["LL0"]
    with open(folder / "metrics.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [4, 8, 12]
    assert [float(row["learning_rate"]) for row in rows] == pytest.approx([1e-3, 1e-3, 1e-4])
    assert read_settings(folder / "config.yaml", ClusterSettings) == settings
    network, description = load_model(folder / "model.safetensors")
    assert description.notes["data"]["points"] == [10, 20]
    assert network.components == 4


def test_the_seed_decides_everything(settings: ClusterSettings, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(replace(settings, out=str(tmp_path / name), seed=seed))
    assert same(weights(tmp_path / "a"), weights(tmp_path / "b"))
    assert not same(weights(tmp_path / "a"), weights(tmp_path / "c"))


@pytest.mark.parametrize("step", [2, 6])
def test_an_interrupted_run_goes_on_as_if_it_had_not_been(
    settings: ClusterSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    whole = replace(settings, out=str(tmp_path / "whole"))
    expected = train(whole)
    with monkeypatch.context() as patch:
        interrupt_after(patch, step)
        with pytest.raises(KeyboardInterrupt, match=rf"stopped after step {step} of 12; go on with: .* --resume"):
            train(settings)
    result = train(settings, resume=True)
    assert same(weights(settings.out), weights(whole.out))
    assert result["figures"] == expected["figures"]
    assert figures_of_training(settings.out) == figures_of_training(whole.out)


@pytest.mark.parametrize("device", ["nowhere", "meta", "cuda:77"])
def test_a_device_that_is_not_there_is_refused(settings: ClusterSettings, device: str) -> None:
    with pytest.raises(ValueError, match=f"device: expected a device that works here, got '{device}'"):
        train(replace(settings, device=device))
    assert not Path(settings.out).exists()
    assert ClusterRun.prepare(replace(settings, device="cpu")).device.type == "cpu"


def test_a_run_is_not_written_over_nor_mixed_with_another(settings: ClusterSettings, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no run to resume"):
        train(settings, resume=True)
    train(settings)
    with pytest.raises(ValueError, match="which exists already; choose another one, or --resume"):
        train(settings)
    with pytest.raises(ValueError, match=r"rate: expected .*, as when the run in .* was started, got"):
        train(replace(settings, rate=1e-2), resume=True)
    with pytest.raises(ValueError, match=r"data\.points: expected \[10, 20\], as when .* started, got \[100, 500\]"):
        train(replace(settings, data=MixtureOptions()), resume=True)
    for name in ("last.ckpt", "previous.ckpt"):
        Path(settings.out, name).write_bytes(b"broken")
    with pytest.raises(ValueError, match=r"last\.ckpt: damaged checkpoint \(BadZipFile\); so is previous\.ckpt"):
        train(settings, resume=True)
    Path(settings.out, "config.yaml").write_text("[1, 2]")
    with pytest.raises(ValueError, match="not the configuration of a run"):
        train(settings, resume=True)


def test_a_missing_library_is_told_before_the_training(
    settings: ClusterSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sampled_transformer.clustering.likelihood.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="scikit-learn is not installed: pip install"):
        train(settings)
    assert not Path(settings.out).exists()


def test_learning_rates(settings: ClusterSettings) -> None:
    run = ClusterRun.prepare(replace(settings, schedule="cosine", steps=100))
    rates = []
    for run.step in (0, 50, 100):
        rates.append(run.rate())
    assert rates == pytest.approx([1e-3, 5e-4, 0])
    run = ClusterRun.prepare(replace(settings, steps=50_000))
    rates = []
    for run.step in (0, 34_999, 35_000):
        rates.append(run.rate())
    assert rates == pytest.approx([1e-3, 1e-3, 1e-4])


@pytest.mark.parametrize("clip", [0.0, 0.25])
def test_gradients_are_clipped_if_wanted(settings: ClusterSettings, clip: float) -> None:
    run = ClusterRun.prepare(replace(settings, clip=clip))
    run.train_step()
    norm = torch.cat([parameter.grad.flatten() for parameter in run.network.parameters()]).norm().item()
    assert norm == pytest.approx(clip, rel=1e-4) if clip else norm > 1


def test_a_likelihood_that_is_not_finite_ends_the_run(settings: ClusterSettings) -> None:
    with pytest.raises(ValueError, match=r"no longer finite in step .*, whose sets follow from .*: lower --rate"):
        train(replace(settings, rate=1e30))


def spoil(monkeypatch: pytest.MonkeyPatch, *steps: int) -> None:
    """Makes the likelihood of these steps, counted from 0, infinite."""
    usual, count = training.log_likelihood, itertools.count()

    def spoilt(*arguments: object) -> torch.Tensor:
        return usual(*arguments) * (math.inf if next(count) in steps else 1)

    monkeypatch.setattr(training, "log_likelihood", spoilt)


def test_a_step_that_is_not_finite_is_skipped_and_counted(
    settings: ClusterSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(settings, steps=4, schedule="step", decay_at=1.0)
    train(replace(short, out=str(tmp_path / "three"), steps=3))
    spoil(monkeypatch, 3)
    with pytest.raises(ValueError, match="no longer finite in step 4"):
        train(short)
    monkeypatch.undo()
    spoil(monkeypatch, 3)
    result = train(replace(short, out=str(tmp_path / "skip"), nonfinite="skip"))
    assert result["skipped_steps"] == 1
    assert same(weights(tmp_path / "skip"), weights(tmp_path / "three"))


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1"])
def test_signals_save_and_stop(settings: ClusterSettings, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    number = signal.Signals[name]
    before = signal.signal(number, signal.SIG_DFL)
    try:
        interrupt_after(monkeypatch, 6, number)
        with pytest.raises(Stopped, match="stopped after step 6 of 12") as stop:
            train(settings)
    finally:
        signal.signal(number, before)
    assert stop.value.code == 128 + number
    assert read_checkpoint(Path(settings.out, "last.ckpt"))["step"] == 6
    assert read_checkpoint(Path(settings.out, "previous.ckpt"))["step"] == 4


def test_checkpoints_between_two_rows(settings: ClusterSettings) -> None:
    train(replace(settings, steps=7, every=100, checkpoint_every="2 steps"))
    steps = [read_checkpoint(Path(settings.out, f"{name}.ckpt"))["step"] for name in ("previous", "last")]
    assert steps == [6, 7]


def test_a_finished_run_without_its_checkpoints_does_not_start_again(settings: ClusterSettings) -> None:
    result = train(settings)
    for name in ("last.ckpt", "previous.ckpt"):
        Path(settings.out, name).unlink()
    assert train(settings, resume=True) == result
    Path(settings.out, "result.json").unlink()
    with pytest.raises(ValueError, match=r"run: no checkpoint; expected last\.ckpt or previous\.ckpt"):
        train(settings, resume=True)


def test_a_folder_in_use_is_refused(settings: ClusterSettings) -> None:
    with claimed(Path(settings.out)), pytest.raises(ValueError, match=r"^out: expected a place that no other"):
        train(settings)


@pytest.mark.parametrize("name", [name for name in list_recipes() if name.startswith("cluster-")])
def test_recipes_are_of_the_command(name: str) -> None:
    settings = ClusterSettings.from_recipe(name, out="-")
    assert settings.recipe == name
    assert settings == replace(ClusterSettings(out="-"), model=settings.model, options=settings.options, recipe=name)
    ClusterRun.prepare(settings)


def test_networks_that_give_no_mixture_are_refused(settings: ClusterSettings) -> None:
    with pytest.raises(
        ValueError, match=r"options\.widht: expected an option of the network 'set-transformer-mixture' \(.*\), got 3"
    ):
        train(replace(settings, options={"widht": 3}))
    with pytest.raises(ValueError, match=r"model: expected one of .*, got 'mixture'"):
        train(replace(settings, model="mixture"))
    with pytest.raises(ValueError, match="model: expected a network that predicts mixtures, got 'basic'"):
        train(replace(settings, model="basic"))
    assert not Path(settings.out).exists()
