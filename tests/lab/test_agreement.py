"""Correlations of right answers, and the share of a test split's noise that two mechanisms do not share."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from sampled_transformer_lab.agreement import agreement
from sampled_transformer_lab.pages.verdict import UNSHARED

KEPT = Path(__file__).parents[2] / "results" / "agreement"


def test_equal_networks_share_everything() -> None:
    right = torch.tensor([1.0, 1.0, 0.0, 1.0, 0.0])
    found = agreement({("a", 0): right, ("a", 1): right, ("b", 0): right, ("b", 1): right})
    assert found["same"] == {"a": pytest.approx(1), "b": pytest.approx(1)}
    assert found["across"] == {"a and b": pytest.approx(1)}
    assert found["unshared"] == {"a and b": pytest.approx(0)}


def test_the_formula_gives_the_variance_of_the_difference() -> None:
    generator = torch.Generator().manual_seed(0)
    easy = torch.rand(200_000, generator=generator)
    chances = {"a": easy, "b": (easy + 0.3 * torch.randn(200_000, generator=generator)).clamp(0, 1)}
    answers = {
        (name, seed): torch.bernoulli(chance, generator=generator).double()
        for name, chance in chances.items()
        for seed in range(2)
    }
    share = {name: float(chance.mean()) for name, chance in chances.items()}
    spread = sum(value * (1 - value) for value in share.values())
    expected = float((chances["a"] - chances["b"]).var())
    assert agreement(answers)["unshared"]["a and b"] * spread == pytest.approx(expected, abs=0.002)


def test_the_verdicts_assume_no_less_than_was_measured() -> None:
    found = [json.loads(path.read_text("utf-8")) for path in KEPT.glob("*.json")]
    assert found
    assert max(value for one in found for value in one["unshared"].values()) <= UNSHARED
