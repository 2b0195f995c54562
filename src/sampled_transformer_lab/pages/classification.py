"""Tables of accuracies: one row per mechanism, compared with one of them and with the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ..studies import Study
from .markdown import listed, table
from .measured import Measured, best_epoch, spread


def classification_section(study: Study, rows: list[Measured]) -> list[str]:
    asked = [row for row in rows if row.row.prints]
    rows = [row for row in rows if not row.row.prints]
    lines = accuracy_table(study, rows) if rows else []
    if asked:
        lines += ["", "The same runs in one pass and averaged over cycles:", "", *asked_table(asked)]
    compared = comparisons(study, rows)
    if not compared:
        return lines
    lines += [
        "",
        f"## {study.subject.capitalize()} attention against the others",
        "",
        *summary(study.subject, compared),
    ]
    return [*lines, "", *comparison_table(compared), "", noise_note(rows)]


def accuracy_table(study: Study, rows: list[Measured]) -> list[str]:
    paper = bool(study.paper_column)
    columns = ["attention", "seeds", "accuracy %", "the paper %", "split", "mean over classes %", "best epoch %"]
    body = []
    for row in rows:
        diverged = f" ({row.diverged()} of {len(row.runs)} diverged)" if row.diverged() else ""
        cells = [
            row.name + diverged,
            str(len(row.runs)),
            spread(row.figures("test_accuracy")),
            f"{row.row.paper['accuracy']:.2f}" if row.row.paper else "",
            f"± {row.split_deviation():.2f}",
            spread(row.figures("test_mean_class_accuracy")),
            spread(row.figures("test_accuracy", best_epoch(row.runs[0]))),
            f"{row.seconds():.0f}",
        ]
        body.append(cells if paper else [*cells[:3], *cells[4:]])
    columns = [*(columns if paper else [*columns[:3], *columns[4:]]), "s per run"]
    note = '"Split" is the deviation that the finite test split adds; the best epoch was chosen on the test split.'
    return [*table(columns, body), "", note + (f" The paper's column is {study.paper_column}." if paper else "")]


def asked_table(rows: Iterable[Measured]) -> list[str]:
    """The same networks in one pass and averaged over cycles."""
    return table(
        ["attention", "seeds", "accuracy %", "mean over classes %"],
        [
            [
                f"{row.name.removesuffix('-averaged')}, {way}",
                str(len(row.runs)),
                *(spread(row.figures(key, way)) for key in ("accuracy", "mean_class_accuracy")),
            ]
            for row in rows
            for way in row.runs[0]["figures"]
        ],
    )


@dataclass(frozen=True)
class Comparison:
    """One mechanism compared with a rival: the difference of their accuracies, in points."""

    rival: str
    difference: float
    noise: float
    claimed: float | None  # the paper's difference
    outcome: str  # "better", "worse", "undecided" or "diverged"

    @property
    def agrees(self) -> bool | None:
        """Whether the order is the paper's; None where one of the two is not known."""
        if self.claimed is None or self.outcome not in ("better", "worse"):
            return None
        return (self.outcome == "better") == (self.claimed > 0)

    @property
    def verdict(self) -> str:
        ending = {None: "", True: ", as in the paper", False: ", **not** as in the paper"}[self.agrees]
        return ("says nothing: diverged" if self.outcome == "diverged" else self.outcome) + ending


def comparisons(study: Study, rows: list[Measured]) -> list[Comparison]:
    """Compare the mechanism of the study with its rivals."""
    by_label = {row.label: row for row in rows if not row.row.prints}
    deviation, freedom = seed_deviation(by_label.values())
    found = []
    for one, two in study.pairs():
        if one not in by_label or two not in by_label:
            continue
        ours, other = by_label[one], by_label[two]
        difference = ours.accuracy() - other.accuracy()
        noise = difference_deviation(ours, other, deviation)
        claimed = None
        if ours.row.paper and other.row.paper:
            claimed = ours.row.paper["accuracy"] - other.row.paper["accuracy"]
        diverged = ours.diverged() or other.diverged()
        outcome = "diverged" if diverged else decided(difference, student(freedom) * noise)
        found.append(Comparison(other.name, difference, noise, claimed, outcome))
    return found


def decided(difference: float, interval: float) -> str:
    """Which one is ahead, if the difference exceeds the interval."""
    if abs(difference) <= interval:
        return "undecided"
    return "better" if difference > 0 else "worse"


def comparison_table(compared: Iterable[Comparison]) -> list[str]:
    return table(
        ["against", "here, points", "the paper", "verdict"],
        [
            [
                one.rival,
                f"{one.difference:+.2f} ± {one.noise:.2f}",
                "" if one.claimed is None else f"{one.claimed:+.2f}",
                one.verdict,
            ]
            for one in compared
        ],
    )


def summary(subject: str, compared: list[Comparison]) -> list[str]:
    """The comparisons as sentences, such as "Sampled beats none, loses to dense and ties with sparse."."""
    parts = []
    for outcome, words in (("better", "beats"), ("worse", "loses to"), ("undecided", "ties with")):
        names = [one.rival for one in compared if one.outcome == outcome]
        if names:
            parts.append(f"{words} {listed(names)}")
    comma = "," if len(parts) > 2 or " and " in "".join(parts[:1]) else ""
    joined = f"{comma} and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
    sentences = [f"{subject.capitalize()} {joined}."] if parts else []
    diverged = [one.rival for one in compared if one.outcome == "diverged"]
    if diverged:
        sentences.append(f"Runs of {listed(diverged)} diverged, which says nothing.")
    for agrees, words in ((True, "The paper agrees on"), (False, "The paper has the opposite order for")):
        names = [one.rival for one in compared if one.agrees is agrees]
        if names:
            sentences.append(f"{words} {listed(names)}.")
    return [" ".join(sentences)]


def noise_note(rows: list[Measured]) -> str:
    """Where the ± of a comparison comes from, and when it decides."""
    deviation, freedom = seed_deviation(rows)
    if deviation is None:
        return (
            "The ± is the standard deviation that the finite test split adds. An order is undecided within twice "
            "that deviation."
        )
    return (
        "The ± is the standard deviation of the difference between two means over seeds on this test split. It comes "
        f"from the deviation between seeds, pooled over all rows ({deviation:.2f} points, {freedom} degrees of "
        f"freedom). An order is undecided within {student(freedom):g} times the ± (Student's 95 %)."
    )


# Two-sided 95 % of Student's distribution, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 8: 2.31, 10: 2.23, 14: 2.14, 20: 2.09, 30: 2.04}


def student(freedom: int) -> float:
    """How many deviations tell a difference from none; 2 where the deviation is known."""
    return next((value for known, value in reversed(STUDENT.items()) if known <= freedom), 2.0)


def seed_deviation(rows: Iterable[Measured]) -> tuple[float | None, int]:
    """Standard deviation of one run between seeds, and its degrees of freedom.

    It is pooled over all rows with several seeds, since two or three seeds of one row say too little. Rows that
    diverged are left out; None where no row has two seeds.
    """
    squares, freedom = 0.0, 0
    for row in rows:
        values = row.figures("test_accuracy")
        if len(values) > 1 and not row.diverged():
            squares += sum((value - row.accuracy()) ** 2 for value in values)
            freedom += len(values) - 1
    return (math.sqrt(squares / freedom) if freedom else None), freedom


def difference_deviation(one: Measured, two: Measured, deviation: float | None) -> float:
    """Standard deviation of the difference of two means, from the deviation of a run, else of the test split."""
    if deviation is None:
        return math.hypot(one.split_deviation(), two.split_deviation())
    return deviation * math.sqrt(1 / len(one.runs) + 1 / len(two.runs))
