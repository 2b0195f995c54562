from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from sampled_transformer.theory import bounds
from sampled_transformer.theory.grid import Setting

SETTINGS = [Setting(n, d, steps) for n in (2, 3, 5, 9) for d in (1, 2, 4) for steps in (2, 3, 10)]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_lines_of_the_gap_follow_from_each_other(setting: Setting) -> None:
    for i in range(2, setting.n):
        exact, second, *weaker = bounds.gap_chain(setting, i)
        assert exact == second
        assert all(one >= two for one, two in pairwise([second, *weaker]))


def test_the_gap_is_not_guaranteed_and_may_be_positive() -> None:
    assert bounds.gap_chain(Setting(3, 1, 2), 2)[0] < 0
    assert bounds.gap_chain(Setting(3, 3, 2), 2)[-1] > 0


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_lines_of_the_remainder_follow_from_each_other(setting: Setting) -> None:
    first, second, third, last = bounds.remainder_chain(setting)
    assert first <= second == third <= last


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_repaired_upper_bound_leads_to_the_last(setting: Setting) -> None:
    highest_first = (setting.n - 1) * setting.spacing + bounds.column_width(setting)
    for i in range(2, setting.n + 1):
        repaired = bounds.upper_bound_repaired(setting, i)
        assert setting.base ** (i - 1) * highest_first <= repaired <= setting.n * setting.base**i - setting.delta


def test_powers_stay_below_two_for_every_n() -> None:
    """eq:ineq_for_allmax; (1 + 1/2n)^n increases towards sqrt(e) = 1.65."""
    for n in range(1, 300):
        assert Fraction(2 * n + 1, 2 * n) ** n < Fraction(165, 100)


def test_the_second_layer_needs_two_tokens() -> None:
    """1 + 4n <= 4n^2 holds from n = 2 on, not from n = 1."""
    assert 1 + 4 > 4
    assert all(1 + 4 * n <= 4 * n**2 for n in range(2, 100))
