"""Tables of accuracies: one row for each mechanism, compared with one of them and with the paper."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ..tasks.studies import Study
from .measured import Measured, best_epoch, spread


def classification_section(study: Study, rows: list[Measured]) -> list[str]:
    lines = list(accuracy_table(study, rows))
    ours = next((row for row in rows if row.label == study.ours), None)
    if ours is not None and len(rows) > 1:
        lines += ["", *comparison(ours, [row for row in rows if row is not ours])]
    return lines


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


def comparison(ours: Measured, others: list[Measured]) -> Iterable[str]:
    """Sampled attention beside each rival, and whether the order is the paper's."""
    yield "Sampled attention against the others, in points:"
    yield ""
    yield "| against | measured here | the paper | order |"
    yield "|---|---|---|---|"
    for other in others:
        difference = ours.accuracy() - other.accuracy()
        noise = difference_deviation(ours, other)
        claimed = None
        if ours.row.paper and other.row.paper:
            claimed = ours.row.paper["accuracy"] - other.row.paper["accuracy"]
        paper = "" if claimed is None else f"{claimed:+.2f}"
        order = "says nothing: diverged" if other.diverged() else verdict(difference, noise, claimed)
        yield f"| {other.name} | {difference:+.2f} ± {noise:.2f} | {paper} | {order} |"
    yield ""
    yield (
        "The deviation is that of the difference of two means over seeds, where a row with one seed borrows the "
        "other's; an order is called undecided within twice of it."
    )


def difference_deviation(one: Measured, two: Measured) -> float:
    """Of the difference of two means, between seeds; where no row has two, that of the test split."""
    deviations = [row.seed_deviation() for row in (one, two)]
    known = [value for value in deviations if value is not None]
    if not known:
        return math.hypot(one.split_deviation(), two.split_deviation())
    filled = [max(known) if value is None else value for value in deviations]
    return math.hypot(filled[0] / math.sqrt(len(one.runs)), filled[1] / math.sqrt(len(two.runs)))


def verdict(difference: float, noise: float, claimed: float | None) -> str:
    if abs(difference) <= 2 * noise:
        return "undecided"
    if claimed is None:
        return "sampled is better" if difference > 0 else "sampled is worse"
    return "as in the paper" if (difference > 0) == (claimed > 0) else "**not** as in the paper"
