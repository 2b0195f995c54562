"""Tables of accuracies: one row for each mechanism, compared with one of them and with the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..studies import Study
from .measured import Measured, best_epoch, spread


def classification_section(study: Study, rows: list[Measured]) -> list[str]:
    asked = [row for row in rows if row.row.prints]
    rows = [row for row in rows if not row.row.prints]
    by_label = {row.label: row for row in rows}
    pairs = [(by_label[one], by_label[two]) for one, two in study.pairs() if one in by_label and two in by_label]
    lines = list(accuracy_table(study, rows)) if rows else []
    if asked:
        lines += ["", *asked_table(asked)]
    return lines if not pairs else [*lines, "", *comparison(study.subject, pairs, *seed_deviation(rows))]


def accuracy_table(study: Study, rows: Iterable[Measured]) -> Iterable[str]:
    paper = bool(study.paper_column)
    yield (
        "| attention | seeds | accuracy % | split | mean over classes % | best epoch % (chosen on test) | s a run |"
        + (f" the paper % ({study.paper_column}) |" if paper else "")
    )
    yield "|---|---|---|---|---|---|---|" + ("---|" if paper else "")
    for row in rows:
        best = best_epoch(row.runs[0])
        cells = [
            row.name + (f" ({row.diverged()} of {len(row.runs)} diverged)" if row.diverged() else ""),
            str(len(row.runs)),
            spread(row.figures("test_accuracy")),
            f"± {row.split_deviation():.2f}",
            spread(row.figures("test_mean_class_accuracy")),
            spread(row.figures("test_accuracy", best)),
            f"{row.seconds():.0f}",
        ]
        if paper:
            cells.append(f"{row.row.paper['accuracy']:.2f}" if row.row.paper else "")
        yield "| " + " | ".join(cells) + " |"


def asked_table(rows: Iterable[Measured]) -> Iterable[str]:
    """The same networks asked in other ways than in one pass; not the headline."""
    yield "| the same runs, asked otherwise | seeds | accuracy % | mean over classes % |"
    yield "|---|---|---|---|"
    for row in rows:
        for way in row.runs[0]["figures"]:
            figures = [spread(row.figures(key, way)) for key in ("accuracy", "mean_class_accuracy")]
            yield f"| {row.name.removesuffix('-averaged')}, {way} | {len(row.runs)} | {figures[0]} | {figures[1]} |"


def comparison(
    subject: str, pairs: list[tuple[Measured, Measured]], deviation: float | None, freedom: int
) -> Iterable[str]:
    """One mechanism beside its rivals, and whether the order is the paper's."""
    factor = student(freedom)
    yield f"{subject.capitalize()} attention against the others, in points:"
    yield ""
    yield "| against | measured here | the paper | order |"
    yield "|---|---|---|---|"
    orders: dict[str, list[str]] = {}
    for ours, other in pairs:
        difference = ours.accuracy() - other.accuracy()
        noise = difference_deviation(ours, other, deviation)
        claimed = None
        if ours.row.paper and other.row.paper:
            claimed = ours.row.paper["accuracy"] - other.row.paper["accuracy"]
        paper = "" if claimed is None else f"{claimed:+.2f}"
        diverged = ours.diverged() or other.diverged()
        order = "says nothing: diverged" if diverged else verdict(subject, difference, factor * noise, claimed)
        orders.setdefault(order, []).append(other.name)
        yield f"| {other.name} | {difference:+.2f} ± {noise:.2f} | {paper} | {order} |"
    yield ""
    yield (
        f"In short, {subject} attention against the others: "
        + "; ".join(f"{order}: {', '.join(names)}" for order, names in orders.items())
        + "."
    )
    yield ""
    if deviation is None:
        yield "The deviation is that of the test split; an order is undecided within twice of it."
    else:
        yield (
            "The deviation is that of the difference of two means over seeds on this test split, from the deviation "
            f"between seeds in all rows together ({deviation:.2f} points, {freedom} degrees of freedom). An order is "
            f"undecided within {factor:g} times of it, Student's 95 %."
        )


# Two-sided 95 % of Student's distribution, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 8: 2.31, 10: 2.23, 14: 2.14, 20: 2.09, 30: 2.04}


def student(freedom: int) -> float:
    """How many deviations a difference must have to be told from none; 2 for a deviation that is known."""
    return next((value for known, value in reversed(STUDENT.items()) if known <= freedom), 2.0)


def seed_deviation(rows: Iterable[Measured]) -> tuple[float | None, int]:
    """Of one run between seeds, and its degrees of freedom: pooled over all rows with several, since two or three seeds
    of one row say too little. Rows that diverged are left out; None where no row has two."""
    squares, freedom = 0.0, 0
    for row in rows:
        values = row.figures("test_accuracy")
        if len(values) > 1 and not row.diverged():
            squares += sum((value - row.accuracy()) ** 2 for value in values)
            freedom += len(values) - 1
    return (math.sqrt(squares / freedom) if freedom else None), freedom


def difference_deviation(one: Measured, two: Measured, deviation: float | None) -> float:
    """Of the difference of two means, from the deviation of a run; without one, that of the test split."""
    if deviation is None:
        return math.hypot(one.split_deviation(), two.split_deviation())
    return deviation * math.sqrt(1 / len(one.runs) + 1 / len(two.runs))


def verdict(subject: str, difference: float, interval: float, claimed: float | None) -> str:
    if abs(difference) <= interval:
        return "undecided"
    if claimed is None:
        return f"{subject} is {'better' if difference > 0 else 'worse'}"
    return "as in the paper" if (difference > 0) == (claimed > 0) else "**not** as in the paper"
