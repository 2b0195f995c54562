"""Does a run made anew agree with the result that is kept?

Two runs of one seed are equal in every figure on the same machine and the same versions. Elsewhere rounding differs,
and training makes the difference grow until the runs are as far apart as two seeds. So a row agrees if

    all its figures are equal,   or   |new - kept| <= 3 sqrt(2) s,

where the headline is compared, s is the standard deviation between seeds, and sqrt(2) s that of the difference of two
runs. s is pooled over all rows of the table with several seeds. If no row has two, s is what the finite test split
adds, sqrt(p (1 - p) / N); if that is unknown too, only equal figures agree.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from sampled_transformer.support.printable import printable

from .reproduce import headline_figure, result_file, shown
from .study import Study

LIMIT = 3 * math.sqrt(2)
CIRCUMSTANCES = {"command", "seconds", "machine", "versions"}  # of a run, which two runs need not share


@dataclass(frozen=True)
class Comparison:
    """A row made anew, next to the result that is kept.

    Args:
        row, figure: what is compared; the figure is accuracy, LL0 or loss.
        kept, new: the two headlines.
        equal: whether all figures are equal, not only the headline.
        deviation: s above; None where it is unknown.
    """

    row: str
    figure: str
    kept: float
    new: float
    equal: bool
    deviation: float | None

    @property
    def allowed(self) -> float:
        return LIMIT * (self.deviation or 0.0)

    @property
    def agrees(self) -> bool:
        return self.equal or (self.deviation is not None and abs(self.new - self.kept) <= self.allowed)

    @property
    def verdict(self) -> str:
        if self.equal:
            return "agrees: all figures are equal"
        return "agrees: within the noise" if self.agrees else "DIFFERS"

    def line(self) -> str:
        unit = ".2f" if self.figure == "accuracy" else ".4f"
        kept, new = shown(self.figure, self.kept), shown(self.figure, self.new)
        allowed = "unknown" if self.deviation is None else f"± {self.allowed:{unit}}"
        difference = f"{self.new - self.kept:+{unit}}"
        return f"{self.row}: kept {kept}, new {new}, difference {difference} (allowed {allowed}), {self.verdict}"


def read_kept(results: Path, name: str, runs: Sequence[tuple[str, int]]) -> dict[str, dict[str, Any]]:
    """The kept results of some runs, by row; refuses if one is missing."""
    kept = {}
    for row, seed in runs:
        path = result_file(results, name, row, seed)
        if not path.is_file():
            raise ValueError(f"{printable(path)}: expected a result to compare with, got no such file")
        kept[row] = json.loads(path.read_text("utf-8"))
    return kept


def compare(row: str, kept: dict[str, Any], new: dict[str, Any], deviations: dict[str, float]) -> Comparison:
    """Compare two results of one run; `deviations` has s for each figure where seeds tell it."""
    (figure, before), (_, now) = headline_figure(kept), headline_figure(new)
    deviation = deviations.get(figure, split_deviation(kept))
    return Comparison(row, figure, before, now, measured(kept) == measured(new), deviation)


def measured(result: Any) -> Any:
    """What was measured, without the circumstances: the figures, or all of a result that has none."""
    if isinstance(result, dict):
        chosen = result.get("figures", result)
        return {name: measured(value) for name, value in chosen.items() if name not in CIRCUMSTANCES}
    return result


def split_deviation(result: dict[str, Any]) -> float | None:
    """What the finite test split adds to an accuracy, in points; None for other results."""
    figure, value = headline_figure(result)
    if figure != "accuracy" or not result.get("confusion"):
        return None
    share, shapes = value / 100, sum(map(sum, result["confusion"]))
    return 100 * math.sqrt(share * (1 - share) / shapes)


def seed_deviations(results: Path, name: str, study: Study) -> dict[str, float]:
    """s of each figure, pooled over the rows of a study that have several seeds: {"accuracy": ...}."""
    squares: dict[str, float] = {}
    freedom: dict[str, int] = {}
    for row, entry in study.rows.items():
        paths = (result_file(results, name, row, seed) for seed in range(entry.seeds))
        found = [headline_figure(json.loads(path.read_text("utf-8"))) for path in paths if path.is_file()]
        for figure in {figure for figure, _ in found}:
            values = [value for one, value in found if one == figure]
            squares[figure] = squares.get(figure, 0.0) + sum((value - mean(values)) ** 2 for value in values)
            freedom[figure] = freedom.get(figure, 0) + len(values) - 1
    return {figure: math.sqrt(squares[figure] / count) for figure, count in freedom.items() if count}


def summary(compared: Iterable[Comparison], deviations: dict[str, float]) -> str:
    """How many rows agree, and by which rule."""
    rows = list(compared)
    agree = sum(one.agrees for one in rows)
    spread = ", ".join(f"{figure} {value:.4g}" for figure, value in deviations.items())
    known = f"between seeds ({spread})" if spread else "that the test split adds, as no row has two seeds"
    return (
        f"{agree} of {len(rows)} rows agree. A row agrees if all its figures are equal, or if its headline differs by "
        f"at most {LIMIT:.2f} times the standard deviation {known}."
    )
