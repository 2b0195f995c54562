"""Calibration and the spread over cycles, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..studies import Study
from .measured import Measured


def calibration_section(study: Study, rows: list[Measured]) -> list[str]:
    lines = [
        "Of all answers that are given with a probability of 80 %, 80 % should be right. The calibration error is the "
        "mean over shapes of the difference between the two, in ten bins of the probability.",
    ]
    for row in rows:
        result = row.runs[0]
        head = f"The weights `{row.label}` on {result['shapes']} test shapes, {result['points']} points:"
        lines += ["", f"### {row.label}", "", head, "", *tables(result)]
    return lines


def tables(result: dict[str, Any]) -> Iterator[str]:
    found = result["calibration"]
    yield "| way to ask | right % | mean probability % | calibration error | log loss |"
    yield "|---|---|---|---|---|"
    for name, way in found["ways"].items():
        percent = [100 * way[key] for key in ("accuracy", "probability", "error")]
        yield f"| {name} | {percent[0]:.2f} | {percent[1]:.2f} | {percent[2]:.2f} | {way['log_loss']:.3f} |"
    for name, way in found["ways"].items():
        rows = way["bins"]
        cells = {
            "probability %": [f"{100 * row['probability']:.0f}" for row in rows],
            "right %": [f"{100 * row['accuracy']:.0f}" for row in rows],
            "shapes": [str(row["shapes"]) for row in rows],
        }
        yield ""
        yield f"| {name}, bins |" + " |" * len(rows)
        yield "|---|" + "---|" * len(rows)
        for label, values in cells.items():
            yield f"| {label} | " + " | ".join(values) + " |"
    if "spread" in found:
        rows = found["spread"]["fifths"]
        numbers = [str(number + 1) for number in range(len(rows))]
        yield from (
            "",
            f"| fifth of the shapes, steadiest first | {' | '.join(numbers)} |",
            "|---|" + "---|" * len(rows),
        )
        for label, key in (("spread over cycles, points", "spread"), ("right %", "accuracy")):
            yield f"| {label} | " + " | ".join(f"{100 * row[key]:.1f}" for row in rows) + " |"
        chance = found["spread"]["finds_mistakes"]
        if chance["spread"] is not None:
            yield ""
            yield (
                f"A wrong answer has a larger spread than a right one with a chance of {chance['spread']:.3f}, and a "
                f"lower probability with {chance['probability']:.3f}."
            )
