"""Rows of a study compared with each other: differences of accuracies, their errors, and the verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import mean, variance

from ..study import Study
from .measured import Measured
from .verdict import Difference, Verdict, judge, mean_difference, split_error

LEAST_FREEDOM = 4  # below this many degrees of freedom a study's own deviation is little more than chance


@dataclass(frozen=True)
class Seeds:
    """Standard deviation of one run between seeds, in points.

    Args:
        value: the deviation; None where no row has a second seed.
        freedom: its degrees of freedom.
        source: the rows that it comes from, in words, where other studies lent all of it or a part.
    """

    value: float | None
    freedom: int
    source: str = ""


@dataclass(frozen=True)
class Comparison:
    """One mechanism compared with a rival; `labels` are those of both rows.

    `apart` is the difference with an error from these two rows alone, each with its own deviation; None where one of
    them has a single seed. `pairs` is how many comparisons this one is the mean of.
    """

    rival: str
    labels: tuple[str, str]
    here: Difference
    paper: Difference | None
    verdict: Verdict
    diverged: bool = False
    apart: Difference | None = None
    pairs: int = 1

    @property
    def order(self) -> str:
        return "diverged" if self.diverged else self.verdict.order

    @property
    def words(self) -> str:
        return "says nothing: diverged" if self.diverged else self.verdict.words()


def comparisons(study: Study, rows: list[Measured], deviation: Seeds) -> list[Comparison]:
    """Compare the mechanism of the study with its rivals, as far as both have results."""
    return _of_pairs(study.pairs(), rows, deviation)


def trends(study: Study, rows: list[Measured], deviation: Seeds) -> list[Comparison]:
    """Compare more with fewer points, as far as both have results; the rival is called "knn from 64 to 512"."""
    found = _of_pairs(study.trends, rows, deviation)
    return [replace(one, rival=_from_fewer_to_more(*one.labels)) for one in found]


def _from_fewer_to_more(more: str, fewer: str) -> str:
    (name, _, least), most = fewer.partition("-")[2].rpartition("-"), more.rpartition("-")[2]
    return f"{name} from {least} to {most}"


def averages(study: Study, compared: Iterable[Comparison]) -> list[Comparison]:
    """Where a study has pairs of one kind at several sizes: the mean over them, for every rival."""
    groups: dict[str, list[Comparison]] = {}
    for one in compared:
        if study.rival and not one.diverged:
            groups.setdefault(one.labels[1].rpartition("-")[0], []).append(one)
    return [_average(name.rpartition("-")[2], found) for name, found in groups.items() if len(found) > 1]


def _average(name: str, found: list[Comparison]) -> Comparison:
    here = mean_difference([one.here for one in found])
    papers = [one.paper for one in found if one.paper is not None]
    paper = mean_difference(papers) if len(papers) == len(found) else None
    title = f"{name}, mean of {len(found)}"
    return Comparison(title, found[0].labels, here, paper, judge(here, paper), pairs=len(found))


def _of_pairs(pairs: Iterable[tuple[str, str]], rows: list[Measured], deviation: Seeds) -> list[Comparison]:
    by_label = {row.label: row for row in rows if not row.row.prints}
    known = [(by_label[one], by_label[two]) for one, two in pairs if one in by_label and two in by_label]
    return [compared(ours, other, deviation) for ours, other in known]


def compared(ours: Measured, other: Measured, deviation: Seeds) -> Comparison:
    means = ours.accuracy(), other.accuracy()
    here = difference(means, (len(ours.runs), len(other.runs)), ours.shapes(), deviation)
    paper = None
    if "accuracy" in ours.row.paper and "accuracy" in other.row.paper:
        printed = ours.row.paper["accuracy"], other.row.paper["accuracy"]
        paper = difference(printed, (1, 1), ours.shapes(), deviation)
    diverged = bool(ours.diverged() or other.diverged())
    apart = with_own_deviations(ours, other)
    return Comparison(other.name, (ours.label, other.label), here, paper, judge(here, paper), diverged, apart)


def with_own_deviations(ours: Measured, other: Measured) -> Difference | None:
    """The difference of two rows with an error from their own seeds alone, as Welch's test takes it."""
    values = [row.figures("test_accuracy") for row in (ours, other)]
    if min(map(len, values)) < 2:
        return None
    parts = [variance(one) / len(one) for one in values]
    split = split_error(ours.accuracy(), other.accuracy(), ours.shapes())
    below = sum(part**2 / (len(one) - 1) for part, one in zip(parts, values, strict=True))
    freedom = sum(parts) ** 2 / below if below else math.inf
    return Difference(mean(values[0]) - mean(values[1]), math.sqrt(sum(parts)), split, freedom)


def difference(means: tuple[float, float], seeds: tuple[int, int], shapes: int, deviation: Seeds) -> Difference:
    """The difference of two mean accuracies (per cent) over seeds, on one test split of so many shapes."""
    spread = None if deviation.value is None else deviation.value * math.sqrt(1 / seeds[0] + 1 / seeds[1])
    return Difference(means[0] - means[1], spread, split_error(*means, shapes), deviation.freedom)


def seed_deviation(rows: Iterable[Measured], others: Iterable[Measured] = ()) -> Seeds:
    """The deviation between seeds, pooled over all rows, since two or three seeds of one row say too little.

    With fewer than `LEAST_FREEDOM` degrees of freedom, it is pooled with that of other studies of the same data set.
    Rows that diverged are left out.
    """
    rows = list(rows)
    own = pooled_deviation(rows)
    if own.freedom >= LEAST_FREEDOM or not rows:
        return own
    return lent_deviation(rows[0].runs[0].get("data", ""), others, rows)


def lent_deviation(data: str, others: Iterable[Measured], own: Iterable[Measured] = ()) -> Seeds:
    """The deviation between seeds over the rows of other studies of a data set, and over `own`."""
    lenders, own = [row for row in others if row.runs[0].get("data") == data], list(own)
    lent, mine = pooled_deviation([*own, *lenders]), pooled_deviation(own)
    if lent.freedom == mine.freedom:
        return mine
    whose = "the rows here, which are too few alone, and those" if mine.freedom else "the rows"
    return Seeds(lent.value, lent.freedom, f"{whose} of other studies of {data}")


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
