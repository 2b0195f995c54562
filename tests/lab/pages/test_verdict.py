"""Verdicts: the rules, the known case, and error rates on simulated runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sampled_transformer_lab.pages.verdict import Difference, Verdict, judge, mean_difference, seeds_needed, split_error


def known(value: float, error: float) -> Difference:
    return Difference(value, error)


@pytest.mark.parametrize(
    ("here", "paper", "order", "outcome"),
    [
        ((8.0, 1.0), (8.3, 1.5), "better", "confirmed"),
        ((-3.0, 0.2), (-4.0, 0.5), "worse", "confirmed"),
        ((2.5, 0.5), (8.3, 1.5), "better", "same sign but another size"),
        ((-2.5, 0.5), (5.2, 1.5), "worse", "refuted"),
        ((-1.0, 1.0), (8.3, 1.5), "open", "refuted"),  # zero is possible, the paper's difference is not
        ((0.5, 1.0), (1.4, 1.0), "open", "undecided"),
        ((-1.5, 0.5), (0.3, 1.0), "worse", "undecided"),  # the paper's own error covers ours
        ((3.0, 0.5), (0.0, 0.5), "better", "confirmed"),  # the paper has both level, and claims no lead
        ((-3.0, 0.5), (0.0, 0.5), "worse", "refuted"),
        ((1.5, 0.3), (-0.44, 0.45), "better", "confirmed"),
        ((0.0, 0.05), (-0.63, 0.08), "open", "confirmed"),  # nothing is lost where the paper loses something
        ((-0.31, 0.05), (-0.63, 0.08), "worse", "same sign but another size"),
        ((4.0, 0.5), (8.3, 2.2), "better", "undecided"),  # half the size, which an error this large cannot tell
        ((0.1, 0.2), (0.0, 0.2), "open", "undecided"),
    ],
)
def test_the_rules(here: tuple[float, float], paper: tuple[float, float], order: str, outcome: str) -> None:
    found = judge(known(*here), known(*paper))
    assert (found.order, found.outcome) == (order, outcome)


def test_the_known_case_is_not_as_in_the_paper() -> None:
    """-1.69 +- 0.43 against -0.44: worse here, but of no size that one run of the paper could have told from zero."""
    here, paper = Difference(-1.69, 0.43, freedom=6), Difference(-0.44, 0.53 * math.sqrt(2), freedom=6)
    found = judge(here, paper)
    assert (found.order, found.outcome, found.sign) == ("worse", "undecided", "same")
    resolves = f"would resolve {(here - paper).resolves():.1f} points"
    assert found.words() == f"worse here; undecided against the paper (same sign, {resolves})"
    assert judge(here, known(-0.44, 0.0)).outcome == "same sign but another size"  # were the paper exact


def test_agreement_within_an_error_as_large_as_the_difference_confirms_nothing() -> None:
    here = known(1.0, 0.2)
    assert judge(here, known(1.0, 0.6)).outcome == "undecided"
    assert judge(here, known(1.0, 0.3)).outcome == "undecided"
    found = judge(here, known(1.0, 0.1))
    assert found.outcome == "confirmed"
    assert found.words() == "confirmed to ± 0.4 points"


def test_without_a_second_seed_nothing_is_decided() -> None:
    found = judge(Difference(30.0, None, 1.0, 0), known(30.0, 1.0))
    assert (found.order, found.outcome) == ("open", "undecided")
    assert found.words() == "undecided (no row has a second seed)"


def test_words() -> None:
    assert Verdict("better", "", 1.0).words() == "better"
    assert Verdict("open", "", 1.25).words(digits=2) == "undecided (would resolve 1.25 points)"
    assert Verdict("open", "undecided", 0.0123).words("nats", 3) == "undecided (would resolve 0.012 nats)"
    assert Verdict("better", "confirmed", 1.0).words() == "confirmed, and ahead"
    assert Verdict("open", "confirmed", 1.0).words() == "confirmed, and level"
    assert Verdict("better", "confirmed", 1.0, within=0.25).words("", 3) == "confirmed to ± 0.250"
    assert Verdict("worse", "refuted", 1.0).words() == "**refuted**"
    assert Verdict("worse", "same sign but another size", 1.0).words() == "same sign but another size"


def test_few_seeds_widen_the_interval_by_their_share() -> None:
    assert Difference(0.0, 1.0, freedom=2).interval() == pytest.approx(4.303, abs=1e-3)
    assert Difference(0.0, 1.0).interval() == pytest.approx(1.960, abs=1e-3)
    assert Difference(0.0, 0.01, 1.0, 2).interval() == pytest.approx(1.960, abs=1e-3)
    assert Difference(0.0, 0.0).interval() == 0


def test_the_split_counts_what_two_rows_do_not_share() -> None:
    assert split_error(50.0, 50.0, 2500) == pytest.approx(math.sqrt(0.12 * 2) * 50 / 50)


def test_a_mean_averages_seeds_but_not_the_test_split() -> None:
    found = mean_difference([Difference(1.0, 0.4, 0.3, 8), Difference(3.0, 0.4, 0.5, 8)])
    assert (found.value, found.seeds, found.split, found.freedom) == pytest.approx((2.0, 0.4 / 2**0.5, 0.4, 8))
    assert mean_difference([Difference(1.0, 0.4), Difference(3.0, None)]).seeds is None


def test_seeds_that_a_difference_would_take() -> None:
    assert seeds_needed(0.25, 0.51) == 66
    assert seeds_needed(-0.25, 0.51) == 66
    assert seeds_needed(0.0, 0.51) is None
    # 2.8^2 (2 * 0.51^2 / 17 + 0.2^2) = 0.74^2
    assert seeds_needed(0.75, 0.51, 0.2) == 17
    assert seeds_needed(0.55, 0.51, 0.2) is None
    assert seeds_needed(0.57, 0.51, 0.2) is not None
    assert seeds_needed(30.0, 0.51, 0.2) == 1


def simulated(truth: float, paper_truth: float, rows: int = 8000, seeds: int = 3) -> list[Verdict]:
    """Verdicts on simulated studies: three seeds per row, the deviation pooled over four rows, the paper's one run."""
    generator = np.random.default_rng(0)
    deviation, split = 0.5, 0.3
    found = []
    for _ in range(rows):
        runs = generator.normal(0, deviation, (4, seeds))
        estimate = math.sqrt(runs.var(1, ddof=1).mean())
        value = truth + runs[0].mean() - runs[1].mean() + generator.normal(0, split)
        printed = paper_truth + generator.normal(0, math.hypot(deviation * math.sqrt(2), split))
        freedom = 4 * (seeds - 1)
        here = Difference(value, estimate * math.sqrt(2 / seeds), split, freedom)
        found.append(judge(here, Difference(printed, estimate * math.sqrt(2), split, freedom)))
    return found


def share(found: list[Verdict], *outcomes: str) -> float:
    return sum(one.outcome in outcomes for one in found) / len(found)


def test_error_rates_are_as_promised() -> None:
    level = simulated(0.0, 0.0)
    assert sum(one.order != "open" for one in level) / len(level) == pytest.approx(0.05, abs=0.01)
    assert share(level, "refuted", "same sign but another size") < 0.06
    equal = simulated(6.0, 6.0)
    assert share(equal, "refuted", "same sign but another size") == pytest.approx(0.05, abs=0.01)
    assert share(equal, "confirmed") > 0.9
    absent = simulated(0.0, 4.0)  # the paper has a difference that is not there
    assert share(absent, "confirmed") < 0.01
    assert share(absent, "refuted") > 0.9
    smaller = simulated(1.5, 6.0)
    assert share(smaller, "same sign but another size", "refuted") > 0.95
    assert share(smaller, "confirmed") < 0.05


def test_the_resolved_difference_is_found_four_times_of_five() -> None:
    resolved = Difference(0.0, 0.5 * math.sqrt(2 / 3), 0.3, 8).resolves()
    found = simulated(resolved, 0.0)
    assert sum(one.order == "better" for one in found) / len(found) == pytest.approx(0.8, abs=0.03)
