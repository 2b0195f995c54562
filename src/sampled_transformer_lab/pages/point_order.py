"""The page on the order of the points: how many answers a shuffle changes."""

from __future__ import annotations

from typing import Any

from .markdown import commands, table


def point_order_section(result: dict[str, Any]) -> list[str]:
    return [
        "In evaluation the cycle is a function of the places in the list of points, the seed and the layer. The same "
        "input gives the same output, but the same points in another order walk another cycle and may get another "
        "answer. Averaging over cycles makes that rarer.",
        "",
        *table(
            ["way to ask", "answers that a shuffle changes %"],
            [[way, f"{100 * share:.1f}"] for way, share in result["changed"].items()],
        ),
        "",
        f"The weights `{result['weights']}` on {result['shapes']} test shapes with {result['points']} points; means "
        f"over {result['shuffles']} shuffles, each compared with the stored order. The layer averages with "
        "`SampledAttention(samples=8)`, the answer with `evaluate --samples 8` and `predict --samples 8`.",
        "",
        *commands(result["command"]),
    ]
