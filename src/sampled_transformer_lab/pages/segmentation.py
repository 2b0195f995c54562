"""Tables of networks that label points: mean IoU over the classes of the points, and what each row adds to another."""

from __future__ import annotations

import math
from statistics import mean

from ..study import Study
from .comparison import Seeds, pooled_deviation
from .markdown import table
from .measured import Measured, best_epoch, spread
from .verdict import Difference, judge

FIGURE = "test_mean_iou"


def segmentation_section(study: Study, rows: list[Measured]) -> list[str]:
    columns = ["network", "seeds", "mean IoU %", "points right %", "best epoch %", "s per run"]
    body = [
        [
            row.name,
            str(len(row.runs)),
            spread(row.figures(FIGURE)),
            spread(row.figures("test_accuracy")),
            spread(row.figures(FIGURE, best_epoch(row.runs[0]))),
            f"{row.seconds():.0f}",
        ]
        for row in rows
    ]
    lines = [*table(columns, body), "", "The best epoch was chosen on the test split; it is for comparison only.", ""]
    lines += ["## IoU of each class, %", "", *class_table(rows)]
    deviation = pooled_deviation(rows, FIGURE)
    found = {row.label: row for row in rows}
    pairs = [(found[one], found[two]) for one, two in study.pairs() if one in found and two in found]
    if not pairs:
        return lines
    lines += ["", "## What each row adds", "", *added_table(pairs, deviation), ""]
    return [*lines, noise_note(deviation)]


def class_table(rows: list[Measured]) -> list[str]:
    names = [entry["class"] for entry in rows[0].runs[0]["point_classes"]]
    body = []
    for row in rows:
        shares = [[entry["iou"] for entry in run["point_classes"]] for run in row.runs]
        body.append([row.name, *(f"{100 * mean(values):.1f}" for values in zip(*shares, strict=True))])
    return table(["network", *names], body)


def added_table(pairs: list[tuple[Measured, Measured]], deviation: Seeds) -> list[str]:
    """The difference of each second row to its first one."""
    body = []
    for base, row in pairs:
        value = mean(row.figures(FIGURE)) - mean(base.figures(FIGURE))
        seeds = math.sqrt(1 / len(base.runs) + 1 / len(row.runs))
        found = Difference(value, None if deviation.value is None else deviation.value * seeds, 0.0, deviation.freedom)
        error = "" if found.seeds is None else f" ± {found.error:.2f}"
        body.append([row.name, base.name, f"{value:+.2f}{error}", judge(found).words()])
    return table(["network", "against", "points of mean IoU", "verdict"], body)


def noise_note(deviation: Seeds) -> str:
    if deviation.value is None:
        return "No row has a second seed, so no difference can be told from noise."
    return (
        f"The ± is one standard error over seeds: the deviation of one run, {deviation.value:.2f} points, is pooled "
        f"over all rows ({deviation.freedom} degrees of freedom). Other test shapes would add to it; by how much was "
        "not measured. [Verdicts](index.md#verdicts) has the rules."
    )
