"""Statistics of BatchNorm estimated again; runs really made, on shapes small enough for seconds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from helpers.runs import rows, same, weights
from torch import nn

from sampled_transformer.data import Batch
from sampled_transformer.training import batch_statistics
from sampled_transformer.training.batch_statistics import MOST_BATCHES, estimate_statistics, restore_statistics
from sampled_transformer.training.run import Run, RunData, train
from sampled_transformer.training.settings import DataOptions, OptimiserOptions, Settings, TrainerOptions

SMALL = {"dim": 32, "heads": 2, "hidden": 32, "embedding": 16}


class Network(nn.Module):
    """A norm behind a layer, and dropout before it, which must not count."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4))

    def forward(self, points, normals=None):
        return self.layers(points)


@pytest.fixture
def settings(pack_folder, tmp_path) -> Settings:
    """Two steps per epoch at a high rate."""
    data = DataOptions(str(pack_folder), points=32, batch=32, preset="bricks")
    optimiser = OptimiserOptions(rate=2e-2)
    cpu = TrainerOptions("cpu")
    return Settings(data, str(tmp_path / "run"), options=SMALL, epochs=4, optimiser=optimiser, trainer=cpu)


def few_steps(monkeypatch, steps: int) -> None:
    monkeypatch.setattr(batch_statistics, "FEW_STEPS", steps)


def test_the_estimate_is_the_mean_over_the_batches_and_nothing_else_changes():
    torch.manual_seed(0)
    network = Network().train()
    network(torch.randn(8, 3))
    norm = network.layers[2]
    old = {name: value.clone() for name, value in network.state_dict().items()}
    batches = [Batch(3 + 2 * torch.randn(size, 3)) for size in (6, 9, 7)]
    state = torch.get_rng_state()
    before = estimate_statistics(network, batches)
    assert torch.equal(torch.get_rng_state(), state)
    values = [network.layers[0](batch.points).detach() for batch in batches]
    torch.testing.assert_close(norm.running_mean, torch.stack([one.mean(0) for one in values]).mean(0))
    torch.testing.assert_close(norm.running_var, torch.stack([one.var(0) for one in values]).mean(0))
    assert norm.momentum == 0.1
    assert norm.num_batches_tracked == 1
    assert all(module.training for module in network.modules())
    restore_statistics(network, before)
    assert same(network.state_dict(), old)


def test_an_estimate_is_bounded_and_needs_no_norm():
    asked = []

    def endless():
        while True:
            asked.append(1)
            yield Batch(torch.randn(4, 3))

    estimate_statistics(Network(), endless())
    assert len(asked) == MOST_BATCHES
    assert estimate_statistics(nn.Linear(3, 3), endless()) == {}
    assert len(asked) == MOST_BATCHES


def test_a_network_that_fails_keeps_its_options():
    network = Network().eval()
    with pytest.raises(ValueError, match="more than 1 value"):
        estimate_statistics(network, [Batch(torch.randn(1, 3))])
    assert network.layers[2].momentum == 0.1
    assert not network.layers[2].training


def test_a_short_run_on_few_shapes_does_not_look_broken(settings, tmp_path, monkeypatch):
    train(settings)
    after = [float(row["test_accuracy"]) for row in rows(settings.out)]
    few_steps(monkeypatch, -1)
    stale = replace(settings, out=str(tmp_path / "stale"))
    train(stale)
    before = [float(row["test_accuracy"]) for row in rows(stale.out)]
    assert before[-1] < 0.7
    assert after[-1] > 0.9
    learnt = [[row["train_loss"] for row in rows(one.out)] for one in (settings, stale)]
    assert learnt[0] == learnt[1]  # training itself is the same


def test_the_weights_that_are_saved_are_those_that_were_measured(settings):
    run = Run.prepare(replace(settings, out=settings.out + "-other"))
    train(settings)
    network = run.task.network
    network.load_state_dict(weights(settings.out))
    saved = {name: value.clone() for name, value in network.state_dict().items()}
    estimate_statistics(network, RunData(run.splits, settings.data.batch, settings.seed).sample_batches())
    assert same(network.state_dict(), saved)


def test_a_run_of_many_steps_is_the_same_to_the_bit(settings, tmp_path, monkeypatch):
    few_steps(monkeypatch, 4)  # of 8
    train(settings)
    few_steps(monkeypatch, -1)
    plain = replace(settings, out=str(tmp_path / "plain"))
    train(plain)
    assert same(weights(settings.out), weights(plain.out))
    figures = [[row["test_accuracy"] for row in rows(one.out)] for one in (settings, plain)]
    assert figures[0][:2] != figures[1][:2]
    assert figures[0][2:] == figures[1][2:]


@pytest.mark.parametrize("step", [2, 3, 4, 5])  # ends of epochs, and between
def test_a_resumed_run_is_the_same_to_the_bit(settings, tmp_path, monkeypatch, interrupt, step):
    few_steps(monkeypatch, 4)
    whole = replace(settings, out=str(tmp_path / "whole"))
    train(whole)
    interrupt(step)
    with pytest.raises(KeyboardInterrupt):
        train(settings)
    run = Run.prepare(replace(settings, out=settings.out + "-other"))
    if step <= 4:  # the weights of a stopped run are usable, too
        network = run.task.network
        network.load_state_dict(weights(settings.out))
        saved = {name: value.clone() for name, value in network.state_dict().items()}
        estimate_statistics(network, RunData(run.splits, settings.data.batch, settings.seed).sample_batches())
        assert same(network.state_dict(), saved)
    train(settings, resume=True)
    assert same(weights(settings.out), weights(whole.out))
    figures = [[row["test_accuracy"] for row in rows(one.out)] for one in (settings, whole)]
    assert figures[0] == figures[1]


def test_few_steps_are_announced(settings, tmp_path):
    told = r"learn little in 8 training steps on 33 shapes: give --epochs 50 or more, .*--init modelnet40$"
    with pytest.warns(UserWarning, match=told):
        train(settings)
    clouds = replace(settings, out=str(tmp_path / "clouds"), epochs=1, data=replace(settings.data, normals=False))
    with pytest.warns(UserWarning, match=r"--init modelnet40, which needs normals"):
        train(clouds)
    assert Path(clouds.out, "model.safetensors").is_file()


def test_enough_steps_and_trained_weights_are_not_announced(settings, tmp_path, recwarn):
    few = replace(settings, epochs=1, data=replace(settings.data, batch=2))
    with pytest.warns(UserWarning, match="16 training steps"):
        train(few)
    recwarn.clear()
    train(replace(few, out=str(tmp_path / "more"), init=few.out))
    assert not [one for one in recwarn if "training steps" in str(one.message)]
