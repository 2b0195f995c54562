"""Rows of a study compared with each other: differences of accuracies, their errors, and the verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean

from ..study import Study
from .measured import Measured
from .verdict import Difference, Verdict, judge, split_error


@dataclass(frozen=True)
class Seeds:
    """Standard deviation of one run between seeds, in points.

    Args:
        value: the deviation; None where no row has a second seed.
        freedom: its degrees of freedom.
        source: the data set whose other studies lent it; empty where it is the study's own.
    """

    value: float | None
    freedom: int
    source: str = ""


@dataclass(frozen=True)
class Comparison:
    """One mechanism compared with a rival; `labels` are those of both rows."""

    rival: str
    labels: tuple[str, str]
    here: Difference
    paper: Difference | None
    verdict: Verdict
    diverged: bool = False

    @property
    def order(self) -> str:
        return "diverged" if self.diverged else self.verdict.order

    @property
    def words(self) -> str:
        return "says nothing: diverged" if self.diverged else self.verdict.words()


def comparisons(study: Study, rows: list[Measured], deviation: Seeds) -> list[Comparison]:
    """Compare the mechanism of the study with its rivals, as far as both have results."""
    by_label = {row.label: row for row in rows if not row.row.prints}
    pairs = [(by_label[one], by_label[two]) for one, two in study.pairs() if one in by_label and two in by_label]
    return [compared(ours, other, deviation) for ours, other in pairs]


def compared(ours: Measured, other: Measured, deviation: Seeds) -> Comparison:
    means = ours.accuracy(), other.accuracy()
    here = difference(means, (len(ours.runs), len(other.runs)), ours.shapes(), deviation)
    paper = None
    if "accuracy" in ours.row.paper and "accuracy" in other.row.paper:
        printed = ours.row.paper["accuracy"], other.row.paper["accuracy"]
        paper = difference(printed, (1, 1), ours.shapes(), deviation)
    diverged = bool(ours.diverged() or other.diverged())
    return Comparison(other.name, (ours.label, other.label), here, paper, judge(here, paper), diverged)


def difference(means: tuple[float, float], seeds: tuple[int, int], shapes: int, deviation: Seeds) -> Difference:
    """The difference of two mean accuracies (per cent) over seeds, on one test split of so many shapes."""
    spread = None if deviation.value is None else deviation.value * math.sqrt(1 / seeds[0] + 1 / seeds[1])
    return Difference(means[0] - means[1], spread, split_error(*means, shapes), deviation.freedom)


def seed_deviation(rows: Iterable[Measured], others: Iterable[Measured] = ()) -> Seeds:
    """The deviation between seeds, pooled over all rows, since two or three seeds of one row say too little.

    Where no row has a second seed it comes from other studies of the same data set. Rows that diverged are left out.
    """
    rows = list(rows)
    own = pooled_deviation(rows)
    return own if own.value is not None or not rows else lent_deviation(rows[0].runs[0].get("data", ""), others)


def lent_deviation(data: str, others: Iterable[Measured]) -> Seeds:
    """The deviation between seeds over the rows of other studies of a data set."""
    lent = pooled_deviation([row for row in others if row.runs[0].get("data") == data])
    return Seeds(lent.value, lent.freedom, f"other studies of {data}" if lent.value is not None else "")


def pooled_deviation(rows: Iterable[Measured], figure: str = "test_accuracy") -> Seeds:
    """The deviation of a figure between seeds over the rows that have a second one."""
    squares, freedom = 0.0, 0
    for row in rows:
        if len(row.runs) < 2 or row.row.prints or row.diverged():
            continue
        values = row.figures(figure)
        squares += sum((value - mean(values)) ** 2 for value in values)
        freedom += len(values) - 1
    return Seeds(math.sqrt(squares / freedom) if freedom else None, freedom)
