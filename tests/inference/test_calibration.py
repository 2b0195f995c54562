"""Reliability, spread and ranking by hand."""

from __future__ import annotations

import math

import pytest
import torch

from sampled_transformer.inference.calibration import calibration, ranking, reliability, spread, table


def two_classes(sure: list[float]) -> torch.Tensor:
    first = torch.tensor(sure)
    return torch.stack([first, 1 - first], 1)


def test_reliability_by_hand() -> None:
    # Answers are class 0 with 0.95, 0.91 (one right, one wrong) and 0.65 (right).
    found = reliability(two_classes([0.95, 0.91, 0.65]), torch.tensor([0, 1, 0]))
    assert found["accuracy"] == pytest.approx(2 / 3)
    assert found["probability"] == pytest.approx((0.95 + 0.91 + 0.65) / 3)
    low, high = found["bins"]
    assert (low["from"], low["shapes"], low["accuracy"]) == (0.6, 1, 1.0)
    assert (high["from"], high["shapes"], high["accuracy"]) == (0.9, 2, 0.5)
    assert high["probability"] == pytest.approx(0.93)
    assert found["error"] == pytest.approx((2 * 0.43 + 0.35) / 3)
    assert found["log_loss"] == pytest.approx(-(math.log(0.95) + math.log(0.09) + math.log(0.65)) / 3, rel=1e-6)


def test_a_calibrated_network_has_no_error() -> None:
    generator = torch.Generator().manual_seed(0)
    sure = 0.5 + 0.5 * torch.rand(200_000, generator=generator)
    labels = (torch.rand(200_000, generator=generator) > sure).long()
    assert reliability(two_classes(sure.tolist()), labels)["error"] < 0.01


def test_certainty_falls_into_the_last_bin() -> None:
    found = reliability(two_classes([1.0]), torch.tensor([1]))
    assert found["bins"] == [{"from": 0.9, "to": 1.0, "shapes": 1, "probability": 1.0, "accuracy": 0.0}]
    assert math.isfinite(found["log_loss"])


def test_spread_puts_the_steadiest_first() -> None:
    passes = torch.stack([two_classes([0.9, 0.9, 0.8]), two_classes([0.9, 0.7, 0.2])])
    found = spread(passes, torch.tensor([0, 0, 1]), parts=3)
    assert [row["spread"] for row in found["fifths"]] == pytest.approx([0, 0.1, 0.3])
    assert [row["accuracy"] for row in found["fifths"]] == pytest.approx([1, 1, 0])
    assert found["finds_mistakes"] == {"spread": 1.0, "probability": 1.0}


def test_ranking_counts_pairs() -> None:
    generator = torch.Generator().manual_seed(1)
    score = torch.randint(0, 5, (40,), generator=generator).double()
    positive = torch.rand(40, generator=generator) < 0.3
    pairs = [(a > b) + 0.5 * (a == b) for a in score[positive].tolist() for b in score[~positive].tolist()]
    assert ranking(score, positive) == pytest.approx(sum(pairs) / len(pairs))
    assert ranking(score, torch.zeros(40, dtype=torch.bool)) is None


def test_one_pass_has_no_spread() -> None:
    passes = two_classes([0.9, 0.8])[None]
    found = calibration(passes, torch.tensor([0, 0]))
    assert list(found["ways"]) == ["one pass"]
    assert "spread" not in found
    assert "accuracy 100.0 %" in table(found)
    more = calibration(passes.expand(4, -1, -1), torch.tensor([0, 0]))
    assert list(more["ways"]) == ["one pass", "averaged over 4 cycles"]
    assert more["spread"]["finds_mistakes"]["spread"] is None


def test_the_error_by_chance_is_that_of_a_calibrated_network() -> None:
    source = torch.Generator().manual_seed(0)
    sure = 0.5 + 0.5 * torch.rand(200, generator=source)
    found = []
    for _ in range(200):
        labels = (torch.rand(200, generator=source) > sure).long()
        found.append(reliability(two_classes(sure.tolist()), labels))
    assert sum(one["error"] for one in found) / 200 == pytest.approx(found[0]["chance"], rel=0.05)
    assert found[0]["chance"] > 0.03


def test_before_the_temperature() -> None:
    logits = torch.randn(3, 40, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(40) % 4
    fitted = calibration((logits / 2.5).softmax(2), labels, 2.5)
    plain = calibration(logits.softmax(2), labels)
    assert "before" not in plain
    for way, row in plain["ways"].items():
        for key in ("accuracy", "probability", "error", "chance", "log_loss"):
            assert fitted["before"][way][key] == pytest.approx(row[key], abs=1e-6)
    assert fitted["ways"]["one pass"]["probability"] < plain["ways"]["one pass"]["probability"]
    text = table(fitted)
    assert "averaged over 3 cycles, before the temperature 2.500: mean probability" in text
