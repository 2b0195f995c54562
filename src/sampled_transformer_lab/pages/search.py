"""Tables of a search: figures on a held-out part of the training split, never on the test split."""

from __future__ import annotations

import math
from statistics import mean

from ..study import Study
from .comparison import pooled_deviation
from .markdown import table
from .measured import HEADLINE, Measured, spread
from .verdict import Difference, judge


def search_section(study: Study, rows: list[Measured]) -> list[str]:
    body = []
    for row in rows:
        losses = [run["figures"][HEADLINE]["train_loss"] for run in row.runs]
        accuracy = spread(row.figures("validation_accuracy"))
        body.append([row.label, str(len(row.runs)), accuracy, f"{mean(losses):.3f}", f"{row.seconds():.0f}"])
    lines = table(["variant", "seeds", "accuracy on held-out shapes %", "training loss", "s per run"], body)
    return lines + differences(study, rows)


def differences(study: Study, rows: list[Measured]) -> list[str]:
    """Pairs of the study whose rows have several seeds each: the difference, and what it would have resolved."""
    by_label = {row.label: row for row in rows if len(row.runs) > 1}
    pairs = [(by_label[one], by_label[two]) for one, two in study.pairs() if one in by_label and two in by_label]
    if not pairs:
        return []
    deviation = pooled_deviation(by_label.values(), "validation_accuracy")
    if not deviation.value:
        return []
    body = []
    for one, two in pairs:
        value = mean(one.figures("validation_accuracy")) - mean(two.figures("validation_accuracy"))
        error = deviation.value * math.sqrt(1 / len(one.runs) + 1 / len(two.runs))
        here = Difference(value, error, freedom=deviation.freedom)
        cells = [f"{one.label} - {two.label}", f"{value:+.2f} ± {error:.2f}", f"{here.resolves():.1f}"]
        body.append([*cells, judge(here).order.replace("open", "undecided")])
    return [
        "",
        *table(["difference", "points", "would resolve", "verdict"], body),
        "",
        f"The ± is one standard error over seeds ({deviation.value:.2f} points per run, pooled over the rows with "
        f'several seeds, {deviation.freedom} degrees of freedom). A true difference of the size under "would resolve" '
        "would have been found with a chance of 80 %; smaller ones are not ruled out.",
    ]
