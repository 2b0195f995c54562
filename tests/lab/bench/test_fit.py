"""The exponent of n in measured times, with its 95 % interval."""

from __future__ import annotations

import numpy
import pytest
from scipy.stats import linregress
from scipy.stats import t as student

from sampled_transformer_lab.bench.fit import Exponent, fit


def test_the_interval_is_that_of_a_linear_regression() -> None:
    points, seconds = [256, 512, 1024, 2048, 4096], [1.0, 2.2, 3.7, 9.0, 15.0]
    expected = linregress(numpy.log(points), numpy.log(seconds))
    found = fit(zip(points, seconds, strict=True))
    assert found.value == pytest.approx(expected.slope)
    assert found.interval == pytest.approx(student.ppf(0.975, 3) * expected.stderr)


def test_two_timings_have_no_interval() -> None:
    assert fit([(256, 1.0), (512, 4.0)]) == Exponent(pytest.approx(2.0), None)


def test_verdicts() -> None:
    assert Exponent(0.95, 0.07).words() == "confirmed"
    assert Exponent(1.27, 0.87).words() == "undecided"  # 0.4 to 2.1
    assert Exponent(1.0, 0.2).words() == "undecided"
    assert Exponent(1.23, 0.05).words() == "**refuted**"
    assert Exponent(1.0).words() == "undecided"  # only the slope was kept
    assert (str(Exponent(0.95, 0.07)), str(Exponent(0.95))) == ("n^0.95 ± 0.07", "n^0.95")
