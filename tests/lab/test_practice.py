"""Small networks learn functions of a set, repeatably."""

from __future__ import annotations

import copy

import pytest
import torch

from sampled_transformer import Cycle
from sampled_transformer.attention import list_attention
from sampled_transformer_lab import practice
from sampled_transformer_lab.practice import AveragedAttention, SetNetwork, Trial, random_sets, targets, train


def test_targets_equal_their_definitions() -> None:
    points = random_sets(3, 6, torch.Generator().manual_seed(0))
    assert points.min() >= 0
    assert points.max() <= 1
    for cloud, wanted in zip(points, targets(points), strict=True):
        for k in range(6):
            assert wanted[k, 0] == pytest.approx(sum(float(other[0] < cloud[k, 0]) for other in cloud) / 5)
            assert wanted[k, 1] == pytest.approx(max(float((other - cloud[k]).norm()) for other in cloud), abs=1e-3)
            assert wanted[k, 2] == pytest.approx(float((cloud[k] - cloud.mean(0)).norm()), abs=1e-6)


def test_averages_over_samples_in_training_and_evaluation() -> None:
    layer = AveragedAttention(8, 2, samples=3)
    x = torch.randn(2, 7, 8)
    for mode in (True, False):
        layer.train(mode)
        torch.manual_seed(0)
        cycles = [Cycle.sample(7) for _ in range(3)] if mode else None
        torch.manual_seed(0)
        out = layer(x)
        if cycles is not None:
            assert torch.allclose(out, torch.stack([layer(x, cycle=cycle) for cycle in cycles]).mean(0), atol=1e-6)
        else:
            assert torch.equal(out, layer(x))


def test_estimated_attention_reads_as_many_points_as_the_trial_says() -> None:
    assert SetNetwork(Trial("estimated", 1, 5)).blocks[0].attention.rounds == 5


@pytest.mark.parametrize("trial", [Trial(name, 1) for name in list_attention()] + [Trial("sampled", 1, 3)], ids=str)
def test_every_kind_of_network_trains(trial: Trial) -> None:
    network = SetNetwork(trial, dim=16, heads=2)
    out = network(torch.rand(2, 5, 3))
    assert out.shape == (2, 5, 3)
    out.square().mean().backward()
    unused = [name for name, parameter in network.named_parameters() if parameter.grad is None]
    assert all(trial.attention == "none" and "attention_norm" in name for name in unused)


def test_training_is_repeatable_and_learns_and_leaves_the_global_state() -> None:
    state = torch.get_rng_state()
    first = train(Trial("dense", 1), 40, n=8, batch=16)
    assert torch.equal(state, torch.get_rng_state())
    assert first == train(Trial("dense", 1), 40, n=8, batch=16)
    assert first[0] < 0.9  # 1 is the error of the mean


def test_the_study_trains_every_mechanism() -> None:
    assert {trial.attention for trial in practice.TRIALS} == set(list_attention())
    assert len(set(practice.TRIALS)) == len(practice.TRIALS)
    alike = {trial.attention for trial in practice.TRIALS if trial.depth == 2}
    assert alike == set(list_attention())


def test_the_study_yields_after_each_trial_and_its_table_has_a_row_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(practice, "TRIALS", [Trial("none", 1), Trial("estimated", 1, 2)])
    lengths = []
    for found in practice.study(10, seed=1):
        lengths.append(len(found["trials"]))
    assert lengths == [1, 2]
    assert found["command"] == "sampled-transformer theory --practice --steps 10 --seed 1"
    last = found["trials"][1]
    assert list(last["errors"].values()) == train(Trial("estimated", 1, 2), 10, 1)
    assert practice.table(found).splitlines()[3].split(" | ")[1:3] == ["1     ", "2"]
    with pytest.raises(ValueError, match="steps: expected at least 10, got 3"):
        next(practice.study(3))


def test_an_interrupted_study_goes_on_and_another_one_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(practice, "TRIALS", [Trial("none", 1), Trial("none", 2)])
    first = copy.deepcopy(next(practice.study(10)))
    first["trials"][0]["errors"]["rank"] = 9.0  # a mark that no training leaves
    *_, continued = practice.study(10, known=first)
    assert [trial["blocks"] for trial in continued["trials"]] == [1, 2]
    assert continued["trials"][0]["errors"]["rank"] == 9.0
    assert next(practice.study(11, known=first))["trials"][0]["errors"]["rank"] < 9.0
    assert next(practice.study(10, seed=1, known=first))["trials"][0]["errors"]["rank"] < 9.0
