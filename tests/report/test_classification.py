"""Differences of mechanisms, and what may be said of them."""

from __future__ import annotations

import statistics

import pytest

from sampled_transformer.report.classification import difference_deviation, verdict
from sampled_transformer.report.measured import Measured
from sampled_transformer.tasks.studies import Row


def run(accuracy: float) -> dict:
    right = round(100 * accuracy)
    return {"figures": {"last epoch": {"test_accuracy": accuracy}}, "confusion": [[right, 100 - right], [0, 0]]}


def test_one_seed_borrows_the_deviation_of_the_other() -> None:
    one, three = (
        Measured("basic-knn", Row(""), [run(0.5)]),
        Measured("basic-sampled", Row(""), [run(0.5), run(0.6), run(0.7)]),
    )
    deviation = statistics.stdev([50, 60, 70])
    assert difference_deviation(one, three) == pytest.approx((deviation**2 + deviation**2 / 3) ** 0.5)
    assert difference_deviation(one, one) == pytest.approx(2**0.5 * 5)


def test_verdicts() -> None:
    assert verdict(1.0, 0.6, -1.0) == "undecided"
    assert verdict(1.3, 0.6, 0.1) == "as in the paper"
    assert verdict(1.3, 0.6, -0.1) == "**not** as in the paper"
    assert verdict(-1.3, 0.6, None) == "sampled is worse"
