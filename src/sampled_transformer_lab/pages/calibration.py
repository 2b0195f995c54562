"""Calibration and the spread over cycles, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..study import Study
from .markdown import table
from .measured import Measured


def calibration_section(study: Study, rows: list[Measured]) -> list[str]:
    lines = [
        "Of all answers given with a probability of 80 %, 80 % should be right. The calibration error is the mean over "
        "shapes of the difference between the two, in ten bins of the probability.",
    ]
    for row in rows:
        result = row.runs[0]
        head = f"The weights `{row.label}` on {result['shapes']} test shapes, {result['points']} points:"
        lines += ["", f"## {row.label}", "", head, "", *tables(result)]
    return lines


def tables(result: dict[str, Any]) -> Iterator[str]:
    found = result["calibration"]
    yield from table(
        ["way to ask", "right %", "mean probability %", "calibration error", "log loss"],
        [
            [
                name,
                *(f"{100 * way[key]:.2f}" for key in ("accuracy", "probability", "error")),
                f"{way['log_loss']:.3f}",
            ]
            for name, way in _all_ways(found)
        ],
    )
    for name, way in found["ways"].items():
        rows = way["bins"]
        yield from ("", f"Bins, {name}:", "")
        yield from table(
            ["probability %", *(f"{100 * row['probability']:.0f}" for row in rows)],
            [
                ["right %", *(f"{100 * row['accuracy']:.0f}" for row in rows)],
                ["shapes", *(str(row["shapes"]) for row in rows)],
            ],
        )
    if "spread" in found:
        yield from spread_table(found["spread"])


def _all_ways(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The ways to ask, and the same without the temperature of the network, if it has one."""
    yield from found["ways"].items()
    for name, way in found.get("before", {}).items():
        yield f"{name}, without the temperature {found['temperature']:.3f}", way


def spread_table(found: dict[str, Any]) -> Iterator[str]:
    """Whether answers that vary from cycle to cycle are the wrong ones."""
    rows = found["fifths"]
    yield from ("", "Fifths of the shapes, the steadiest first:", "")
    yield from table(
        ["fifth", *(str(number + 1) for number in range(len(rows)))],
        [
            [label, *(f"{100 * row[key]:.1f}" for row in rows)]
            for label, key in (("spread over cycles, points", "spread"), ("right %", "accuracy"))
        ],
    )
    chance = found["finds_mistakes"]
    if chance["spread"] is not None:
        yield ""
        yield (
            f"A wrong answer has a larger spread than a right one with a chance of {chance['spread']:.3f}, and a "
            f"lower probability with a chance of {chance['probability']:.3f}."
        )
