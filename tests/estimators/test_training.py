from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from sampled_transformer.estimators.inputs import PackedSets, cut
from sampled_transformer.estimators.network import SetEnsemble
from sampled_transformer.estimators.training import Examples, Plan, evaluate, parameter_groups, train, warm_cosine

SIZES = np.array([5, 0, 40, 1, 11])


def make(sizes: np.ndarray = SIZES, seed: int = 0) -> tuple[SetEnsemble, Examples]:
    torch.manual_seed(seed)
    network = SetEnsemble(
        2, 1, dim=8, depth=1, heads=2, attention=["linear", "none"], dropout=0.0, attention_options=[{}, {}]
    )
    rows = np.random.default_rng(seed).normal(size=(sizes.sum(), 2)).astype(np.float32)
    return network, Examples(PackedSets(rows, cut(sizes)), np.zeros((len(sizes), 1), np.float32), None)


def plan(**changes: object) -> Plan:
    settings = {
        "learning_rate": 1e-2,
        "weight_decay": 0.0,
        "batch_size": 4,
        "max_points": 16,
        "max_epochs": 5,
        "max_seconds": None,
        "n_iter_no_change": 2,
        "verbose": False,
    }
    return Plan(**{**settings, **changes})  # type: ignore[arg-type]


def mean_loss(examples: Examples) -> object:
    goal = torch.arange(len(examples), dtype=torch.float32)[:, None] / len(examples)

    def loss(outputs: Tensor, numbers: Tensor) -> Tensor:
        return functional.mse_loss(outputs, goal[numbers])

    return loss


def test_the_loss_falls() -> None:
    network, examples = make()
    losses, scores = train(network, examples, mean_loss(examples), plan(max_epochs=30), np.random.default_rng(0))
    assert len(losses) == 30
    assert losses[-1] < 0.5 * losses[0]
    assert scores == []


def test_early_stopping_keeps_the_best_epoch() -> None:
    network, examples = make()
    answers = iter([0.1, 0.5, 0.4, 0.3, 0.9])
    kept = []

    def validate() -> float:
        kept.append(network.members[0].head[0].weight.detach().clone())
        return next(answers)

    losses, scores = train(network, examples, mean_loss(examples), plan(), np.random.default_rng(0), validate)
    assert scores == [0.1, 0.5, 0.4, 0.3]  # two epochs without a better one
    assert torch.equal(network.members[0].head[0].weight, kept[1])
    assert len(losses) == 4


def test_time_ends_the_training(capsys: pytest.CaptureFixture[str]) -> None:
    network, examples = make()
    few = plan(max_epochs=10**6, max_seconds=0.2, verbose=True)
    losses, _ = train(network, examples, mean_loss(examples), few, np.random.default_rng(0))
    assert 1 <= len(losses) < 10**6
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(losses)
    assert lines[0].startswith("epoch 1 of 1000000: loss ")


def test_the_rate_rises_and_falls() -> None:
    assert [round(warm_cosine(done), 6) for done in (0, 0.05, 0.1, 0.55, 1)] == [0, 0.5, 1, 0.5, 0]


def test_only_matrices_decay() -> None:
    network, _ = make()
    decaying, others = parameter_groups(network, 0.1)
    assert {one.dim() for one in decaying["params"]} == {2}
    assert {one.dim() for one in others["params"]} == {1}
    assert others["weight_decay"] == 0


def test_large_sets_are_cut_into_parts_that_depend_on_nothing_else() -> None:
    _, examples = make()
    parts, owner = examples.in_parts(10)
    assert owner.tolist() == [0, 1, 2, 2, 2, 2, 3, 4]
    assert parts.sets.sizes.tolist() == [5, 0, 10, 10, 10, 10, 1, 11]
    third = parts.sets.rows[5:45]
    assert sorted(third.tolist()) == sorted(examples.sets.rows[5:45].tolist())  # every row is in one part
    alone = Examples(examples.sets.select(np.array([2])), examples.sizes[:1], None)
    assert np.array_equal(alone.in_parts(10)[0].sets.rows, third)
    assert examples.in_parts(None)[0] is examples


def test_evaluation_averages_over_the_parts() -> None:
    network, examples = make()
    whole = evaluate(network, examples, None, torch.sigmoid)
    cut_up = evaluate(network, examples, 10, torch.sigmoid)
    assert whole.shape == cut_up.shape == (5, 1)
    assert np.allclose(whole[[0, 1, 3]], cut_up[[0, 1, 3]], atol=1e-6)
    parts, owner = examples.in_parts(10)
    each = evaluate(network, parts, None, torch.sigmoid)
    assert np.allclose(cut_up[2], each[owner == 2].mean(0), atol=1e-6)
    assert evaluate(network, examples, None, torch.nn.Identity(), pooled=True).shape == (5, 50)


def test_batches_hold_every_set_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sampled_transformer.estimators.training.ROWS_AT_ONCE", 12)
    _, examples = make()
    assert [batch.tolist() for batch in examples.batches()] == [[0, 1], [2], [3, 4]]
