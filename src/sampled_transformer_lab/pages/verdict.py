"""What a difference that we measured says about the difference that the paper prints.

Two rows with means a and b over k1 and k2 seeds differ by d = a - b. Two things could have come out otherwise:

    seeds^2 = deviation^2 (1 / k1 + 1 / k2)                       other seeds, on the same test shapes
    split^2 = UNSHARED (a (1 - a) + b (1 - b)) / N                other test shapes, N of them
    error^2 = seeds^2 + split^2

`deviation` is the standard deviation of one run between seeds. For the split, call p(s) and q(s) the chances, over
seeds, that the two mechanisms are right about shape s. The split adds the variance of p(s) - q(s) over shapes, divided
by N. It equals (same - across) (a (1 - a) + b (1 - b)), if runs of one mechanism are right about the same shapes with
the correlation `same`, and runs of both with the correlation `across`. Both rows answer the same shapes, so this is far
less than for two independent splits (same - across = 1).

The paper prints one accuracy per row. We take its error to be that of one run each, with our deviation and our split.
That both used the same official split is ignored, which makes the error of d - paper too large rather than too small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from scipy.special import stdtrit  # Student's quantile, for any positive number of degrees of freedom

# same - across is at most this; results/agreement/ has the measurements.
UNSHARED = 0.12
LEVEL, POWER = 0.95, 0.8


@dataclass(frozen=True)
class Difference:
    """A difference of two rows, and what its error is made of.

    Args:
        value: the difference.
        seeds: its standard error over seeds; None where no row has a second seed.
        split: its standard error over test shapes.
        freedom: degrees of freedom of `seeds`.
    """

    value: float
    seeds: float | None
    split: float = 0.0
    freedom: float = math.inf

    @property
    def error(self) -> float:
        return math.hypot(self.seeds or 0.0, self.split)

    def quantile(self, chance: float) -> float:
        """Student's quantile. By Welch and Satterthwaite, a part with few degrees of freedom counts by its share."""
        share = ((self.seeds or 0.0) / self.error) ** 4 if self.error else 0.0
        return float(stdtrit(min(self.freedom / share if share else 1e6, 1e6), chance))

    def interval(self) -> float:
        """Half the width of the 95 % interval."""
        return self.quantile((1 + LEVEL) / 2) * self.error

    def resolves(self) -> float:
        """The smallest true difference that this interval would tell from zero with a chance of 80 %."""
        return self.interval() + self.quantile(POWER) * self.error

    def __sub__(self, other: Difference) -> Difference:
        """The difference of two differences whose `seeds` come from one estimate of the deviation."""
        known = self.seeds is not None and other.seeds is not None
        return Difference(
            self.value - other.value,
            math.hypot(self.seeds or 0.0, other.seeds or 0.0) if known else None,
            math.hypot(self.split, other.split),
            min(self.freedom, other.freedom),
        )


def mean_difference(parts: Sequence[Difference]) -> Difference:
    """The mean of differences from other runs on the same test split, whose deviation is one estimate.

    What other seeds would change averages out over the parts. What other test shapes would change may not, since all
    parts have the same ones: the split's error is the mean of theirs.
    """
    seeds = [part.seeds for part in parts]
    known = [one for one in seeds if one is not None]
    error = math.hypot(*known) / len(parts) if len(known) == len(parts) else None
    value, split = (fmean(getattr(part, name) for part in parts) for name in ("value", "split"))
    return Difference(value, error, split, parts[0].freedom)


@dataclass(frozen=True)
class Verdict:
    """What `judge` found.

    Args:
        order: who is ahead here, whatever the paper says: "better", "worse", or "open" within the 95 % interval.
        outcome: what that says about the paper; empty where the paper prints no difference.
        resolves: the smallest difference that would have been found with a chance of 80 %; None where no row has a
            second seed.
        sign: for "undecided" with an order: whether the paper has the "same" or the "opposite" sign.
        within: for "confirmed": half the 95 % interval of the difference between ours and the paper's; None where ours
            exceeds a claim of being as good.
    """

    order: Literal["better", "worse", "open"]
    outcome: Literal["confirmed", "same sign but another size", "undecided", "refuted", ""]
    resolves: float | None
    sign: Literal["same", "opposite", ""] = ""
    within: float | None = None

    def words(self, unit: str = "points", digits: int = 1) -> str:
        """The verdict as the pages print it."""
        if self.order != "open" and not self.outcome:
            return self.order
        unit = f" {unit}" if unit else ""
        if self.outcome == "confirmed":
            better = ", and level" if self.order == "open" else ", and ahead"
            return "confirmed" + (better if self.within is None else f" to ± {self.within:.{digits}f}{unit}")
        if self.outcome and self.outcome != "undecided":
            return f"**{self.outcome}**" if self.outcome == "refuted" else self.outcome
        if self.resolves is None:
            return "undecided (no row has a second seed)"
        resolves = f"would resolve {self.resolves:.{digits}f}{unit}"
        if self.sign:
            return f"{self.order} here; undecided against the paper ({self.sign} sign, {resolves})"
        return f"undecided ({resolves})"


def judge(here: Difference, paper: Difference | None = None) -> Verdict:
    """Compare a difference with zero and with the paper's, each within its 95 % interval.

    With e the half width of the interval of here - paper:

    - confirmed: here differs from zero with the paper's sign, and from the paper by no more than e, where e is less
      than half of the paper's difference. (Agreement within a larger error would be little.)
    - confirmed, and level or ahead: the paper claims no lead (its difference is zero or less), and here exceeds it by
      more than e, and is not below zero.
    - same sign but another size: here differs from zero with the paper's sign, and from the paper by more than e.
    - refuted: here differs from the paper by more than e otherwise: it has the opposite sign or cannot be told from
      zero.
    - undecided: anything else. `resolves` then says what would have been found: a difference from zero if the order is
      open, else a difference from the paper.
    """
    if here.seeds is None:
        return Verdict("open", "undecided" if paper else "", None)
    ahead = abs(here.value) > here.interval()
    order: Literal["better", "worse", "open"] = "open" if not ahead else "better" if here.value > 0 else "worse"
    if paper is None:
        return Verdict(order, "", here.resolves())
    apart = here - paper
    same = here.value * paper.value > 0
    if paper.value <= 0 and apart.value > apart.interval() and order != "worse":
        return Verdict(order, "confirmed", here.resolves())
    if abs(apart.value) > apart.interval():
        return Verdict(order, "same sign but another size" if ahead and same else "refuted", here.resolves())
    if not ahead:
        return Verdict(order, "undecided", here.resolves())
    if same and abs(paper.value) > 2 * apart.interval():
        return Verdict(order, "confirmed", here.resolves(), within=apart.interval())
    return Verdict(order, "undecided", apart.resolves(), "same" if same else "opposite")


def split_error(one: float, two: float, shapes: int) -> float:
    """What the finite test split adds to the difference of two accuracies (per cent), in points."""
    return math.sqrt(UNSHARED * (one * (100 - one) + two * (100 - two)) / shapes)


def seeds_needed(difference: float, deviation: float, split: float = 0.0) -> int | None:
    """Seeds per row that find a difference on this test split with a chance of 80 %; None where no number would.

    2 deviation^2 / k + split^2 = (difference / (1.96 + 0.84))^2, both quantiles those of many runs.
    """
    known = Difference(difference, deviation)
    quantiles = known.quantile((1 + LEVEL) / 2) + known.quantile(POWER)
    left = (difference / quantiles) ** 2 - split**2
    return max(1, math.ceil(2 * deviation**2 / left)) if left > 0 else None
