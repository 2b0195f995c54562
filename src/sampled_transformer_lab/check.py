"""Does a run made anew agree with the result that is kept?

Two runs of one seed are equal in every figure on the same machine and the same versions. Elsewhere rounding differs,
and training makes the difference grow until the runs are as far apart as two seeds. So a row that is trained agrees if

    all its figures are equal,   or   |new - kept| <= 3 sqrt(2) s,

where the headline is compared, s is the standard deviation between seeds, and sqrt(2) s that of the difference of two
runs. s is pooled over all rows of the table with several seeds. If no row has two, s is what the finite test split
adds, sqrt(p (1 - p) / N); if that is unknown too, only equal figures agree.

That leaves room for a shift of all rows in one direction, so their mean shift is tested as well: over k trained rows it
must be at most 3 times its standard error, sqrt(2 sum s^2) / k. Rows that ask networks of other rows are left out,
since they shift with those.

A row that evaluates weights of the package trains nothing, so rounding has nothing to grow in. On the same machine with
the same versions it must be equal. Elsewhere, or where the result does not say its versions, rounding can only turn
answers whose two largest scores are nearly equal; we allow `TIES`, one answer in 200.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from sampled_transformer.support.printable import printable

from .reproduce import headline_figure, read_result, result_file, shown
from .study import Row, Study

LIMIT = 3 * math.sqrt(2)
TOGETHER = 3.0  # standard errors that the mean shift of all trained rows may have
TIES = 0.5  # points, of answers that rounding may turn; of other figures, per cent of their size
CIRCUMSTANCES = {"command", "seconds", "machine", "versions"}  # of a run, which two runs need not share


@dataclass(frozen=True)
class Comparison:
    """A row made anew, next to the result that is kept.

    Args:
        row, figure: what is compared; the figure is accuracy, LL0 or loss.
        kept, new: the two headlines.
        equal: whether all figures are equal, not only the headline.
        deviation: s above; None where it is unknown, or where nothing is trained.
        allowed: the difference that agrees; None where only equal figures do.
        trained: whether the row trains a network of its own.
    """

    row: str
    figure: str
    kept: float
    new: float
    equal: bool
    deviation: float | None
    allowed: float | None
    trained: bool = True

    @property
    def agrees(self) -> bool:
        return self.equal or (self.allowed is not None and abs(self.new - self.kept) <= self.allowed)

    @property
    def verdict(self) -> str:
        if self.equal:
            return "agrees: all figures are equal"
        noise = "noise" if self.deviation is not None else "rounding"
        return f"agrees: within the {noise}" if self.agrees else "DIFFERS"

    def line(self) -> str:
        unit = ".2f" if self.figure == "accuracy" else ".4f"
        kept, new = shown(self.figure, self.kept), shown(self.figure, self.new)
        allowed = "nothing" if self.allowed is None else f"± {self.allowed:{unit}}"
        difference = f"{self.new - self.kept:+{unit}}"
        return f"{self.row}: kept {kept}, new {new}, difference {difference} (allowed {allowed}), {self.verdict}"


def read_kept(results: Path, name: str, runs: Sequence[tuple[str, int]]) -> dict[str, dict[str, Any]]:
    """The kept results of some runs, by row; refuses if one is missing."""
    kept = {}
    for row, seed in runs:
        path = result_file(results, name, row, seed)
        if not path.is_file():
            raise ValueError(f"{printable(path)}: expected a result to compare with, got no such file")
        kept[row] = read_result(path)
    return kept


def compare(
    row: str, kept: dict[str, Any], new: dict[str, Any], deviations: dict[str, float], entry: Row | None = None
) -> Comparison:
    """Compare two results of one run; `deviations` has s for each figure where seeds tell it."""
    (figure, before), (_, now) = headline_figure(kept), headline_figure(new)
    equal = measured(kept) == measured(new)
    if entry is not None and entry.prints and not entry.seeded and entry.after is None:
        ties = TIES if figure in ("accuracy", "mean IoU") else TIES / 100 * abs(before)
        allowed = None if same_circumstances(kept, new) else ties
        return Comparison(row, figure, before, now, equal, None, allowed, trained=False)
    deviation = deviations.get(figure, split_deviation(kept))
    allowed = None if deviation is None else LIMIT * deviation
    return Comparison(row, figure, before, now, equal, deviation, allowed, entry is None or not entry.prints)


def same_circumstances(kept: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether both say that they were made on the same machine with the same versions."""
    return all(kept.get(name) is not None and kept.get(name) == new.get(name) for name in ("machine", "versions"))


def shift(compared: Iterable[Comparison]) -> tuple[float, float] | None:
    """The mean shift of all trained rows, and what is allowed; None with fewer than two rows of one figure."""
    rows = [one for one in compared if one.trained and one.deviation is not None]
    if len(rows) < 2 or len({one.figure for one in rows}) > 1:
        return None
    error = math.sqrt(2 * sum((one.deviation or 0.0) ** 2 for one in rows)) / len(rows)
    return mean(one.new - one.kept for one in rows), TOGETHER * error


def agree_together(compared: Iterable[Comparison]) -> bool:
    """Whether each row agrees and the rows are not shifted together."""
    rows = list(compared)
    found = shift(rows)
    return all(one.agrees for one in rows) and (found is None or abs(found[0]) <= found[1])


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
        found = [headline_figure(read_result(path)) for path in paths if path.is_file()]
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
    words = [f"{agree} of {len(rows)} rows agree. A row agrees if all its figures are equal"]
    if any(one.deviation is not None for one in rows):
        words[0] += f", or if its headline differs by at most {LIMIT:.2f} times the standard deviation {known}"
    words[0] += "."
    if any(one.deviation is None and one.allowed is not None for one in rows):
        words.append(f"Weights of the package may differ by rounding, in {TIES} % of their answers.")
    found = shift(rows)
    if found is not None:
        together = "agrees" if abs(found[0]) <= found[1] else "DIFFERS"
        words.append(f"Mean shift of the trained rows: {found[0]:+.4g} (allowed ± {found[1]:.4g}), {together}.")
    return " ".join(words)
