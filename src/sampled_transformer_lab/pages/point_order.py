"""The page on the order of the points: how many answers a shuffle changes."""

from __future__ import annotations

from typing import Any

from .markdown import commands, table


def point_order_section(result: dict[str, Any]) -> list[str]:
    columns = [one[figure] for one in (result, result["by_points"]) for figure in ("changed", "accuracy")]
    return [
        "In evaluation the cycle is a function of the points themselves, the seed and the layer: the same set gives "
        'the same answer in any order. With `keyed_by="places"`, the cycle is a function of the places in the list of '
        "points instead, as it was when most of the other results were measured (the pages of studies say "
        "so). The same points in another order then walk another cycle and may get another answer. Averaging over "
        "cycles makes that rarer.",
        "",
        *table(
            [
                "way to ask",
                "keyed by places: answers that a shuffle changes %",
                "accuracy %",
                "keyed by points: answers that a shuffle changes %",
                "accuracy %",
            ],
            [[way, *(f"{100 * figures[way]:.1f}" for figures in columns)] for way in result["changed"]],
        ),
        "",
        f"The weights `{result['weights']}` on {result['shapes']} test shapes with {result['points']} points; means "
        f"over {result['shuffles']} shuffles, each compared with the stored order, in which the accuracy was measured. "
        "The layer averages with `SampledAttention(samples=8)`, the answer with `evaluate --samples 8` and `predict "
        "--samples 8`.",
        "",
        *commands(result["command"]),
    ]
