"""The exponent of n in measured times, with its 95 % interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.special import stdtrit  # Student's quantile

LINEAR = 1.1  # largest exponent that we call linear


@dataclass(frozen=True)
class Exponent:
    """The slope of log seconds over log points.

    Args:
        value: the slope.
        interval: half its 95 % interval; None with fewer than three timings, or where a file kept only the slope.
    """

    value: float
    interval: float | None = None

    def __str__(self) -> str:
        return f"n^{self.value:.2f}" + ("" if self.interval is None else f" ± {self.interval:.2f}")

    def words(self) -> str:
        """Linear if the whole interval is at most `LINEAR`, not linear if all of it is above, else undecided."""
        if self.interval is None:
            return "undecided"
        if self.value + self.interval <= LINEAR:
            return "confirmed"
        return "**refuted**" if self.value - self.interval > LINEAR else "undecided"


def fit(times: Iterable[tuple[float, float]]) -> Exponent:
    """Fit pairs (points, seconds) by least squares: slope ± t_0.975(k - 2) sqrt(residuals^2 / (k - 2) / S_xx).

    What is left of k timings after the fit is noise and also the curve of the true growth, since the overhead of a call
    weighs more in small sets. The interval covers both.
    """
    pairs = [(math.log(points), math.log(seconds)) for points, seconds in times]
    x, y = _means(pairs)
    squares = sum((a - x) ** 2 for a, _ in pairs)
    slope = sum((a - x) * (b - y) for a, b in pairs) / squares
    freedom = len(pairs) - 2
    if freedom < 1:
        return Exponent(slope)
    residual = sum((b - y - slope * (a - x)) ** 2 for a, b in pairs)
    return Exponent(slope, float(stdtrit(freedom, 0.975)) * math.sqrt(residual / freedom / squares))


def _means(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(a for a, _ in pairs) / len(pairs), sum(b for _, b in pairs) / len(pairs)
