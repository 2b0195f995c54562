"""Optimisers and schedules."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from sampled_transformer.training.settings import OptimiserOptions
from sampled_transformer.training.task import make_optimiser, one_cycle_momentum, schedule


def test_one_cycle_is_that_of_torch():
    total, rate = 200, 4e-3
    parameter = nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([parameter], lr=rate)
    reference = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, rate, total_steps=total, pct_start=61 / total, cycle_momentum=False
    )
    # torch counts its rise from 0 to pct_start * total - 1.
    factor = schedule(OptimiserOptions(rate=rate, warmup=60 / 10), total, 10)
    for step in range(total):
        assert rate * factor(step) == pytest.approx(reference.get_last_lr()[0], rel=1e-6)
        optimiser.step()
        if step < total - 1:
            reference.step()


def test_cosine_with_warm_up():
    factor = schedule(OptimiserOptions(schedule="cosine", warmup=2), 100, 10)
    assert [factor(step) for step in range(20)] == pytest.approx([(step + 1) / 21 for step in range(20)])
    assert factor(20) == 1
    assert factor(99) == pytest.approx(0)
    assert factor(20 + 79 // 2) == pytest.approx((1 + math.cos(math.pi * 39 / 79)) / 2)


def test_step_and_constant():
    factor = schedule(OptimiserOptions(schedule="step", decay=0.5, decay_epochs=3), 100, 10)
    assert [factor(step) for step in (0, 29, 30, 59, 60)] == [1, 1, 0.5, 0.5, 0.25]
    assert {schedule(OptimiserOptions(schedule="constant"), 100, 10)(step) for step in range(100)} == {1.0}


def test_a_warm_up_takes_at_most_half_of_the_run():
    factor = schedule(OptimiserOptions(schedule="cosine", warmup=10), 30, 10)
    rates = [factor(step) for step in range(30)]
    assert max(range(30), key=rates.__getitem__) == 15
    assert rates[-1] < 0.01


@pytest.mark.parametrize("kind", ["one-cycle", "cosine", "step", "constant"])
@pytest.mark.parametrize("total", [1, 2, 5])
@pytest.mark.parametrize("warmup", [None, 0.0, 9.0])
def test_short_runs_have_a_learning_rate(kind, total, warmup):
    factor = schedule(OptimiserOptions(schedule=kind, warmup=warmup), total, 1)
    assert all(0 <= factor(step) <= 1 for step in range(total + 1))
    assert factor(0) > 0


@pytest.mark.parametrize(("name", "kind"), [("adamw", "AdamW"), ("adam", "Adam"), ("sgd", "SGD")])
def test_optimisers(name, kind):
    optimiser = make_optimiser(nn.Linear(2, 2), OptimiserOptions(name=name, rate=0.1, weight_decay=0.01))
    assert type(optimiser).__name__ == kind
    assert optimiser.param_groups[0]["lr"] == 0.1
    assert optimiser.param_groups[0]["weight_decay"] == 0.01


def test_steps_before_milestones():
    options = OptimiserOptions(schedule="step", decay=0.1, milestones=[3, 5])
    factor = schedule(options, total=80, per_epoch=10)
    assert [round(factor(step), 6) for step in (0, 29, 30, 49, 50, 79)] == [1, 1, 0.1, 0.1, 0.01, 0.01]


def test_biases_norms_and_tokens_do_not_decay():
    network = nn.Module()
    network.layer, network.norm = nn.Linear(2, 3), nn.LayerNorm(3)
    network.mask_token = nn.Parameter(torch.zeros(1, 3))
    optimiser = make_optimiser(network, OptimiserOptions(weight_decay=0.5, decays="matrices"))
    decays = {id(p): group["weight_decay"] for group in optimiser.param_groups for p in group["params"]}
    assert {name: decays[id(p)] for name, p in network.named_parameters()} == {
        "mask_token": 0,
        "layer.weight": 0.5,
        "layer.bias": 0,
        "norm.weight": 0,
        "norm.bias": 0,
    }
    (group,) = make_optimiser(network, OptimiserOptions()).param_groups
    assert len(group["params"]) == 5


def test_momentum_is_low_while_the_rate_is_high():
    momentum = one_cycle_momentum(OptimiserOptions(), 100, 10)
    factor = schedule(OptimiserOptions(), 100, 10)
    assert momentum(0) == pytest.approx(0.95)
    assert min(range(100), key=momentum) == max(range(100), key=factor) == 30
    assert momentum(99) == pytest.approx(0.95)
