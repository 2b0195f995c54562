"""The page on the distance between sampled and dense attention, by the number of points that are read."""

from __future__ import annotations

from typing import Any

from ..monte_carlo import tables
from .markdown import commands


def monte_carlo_section(result: dict[str, Any]) -> list[str]:
    seconds, machine = result["seconds"], result["machine"]
    body = "\n".join(tables(result)).replace("### ", "## ").rstrip("\n")
    return [
        f"The attention layer of the weights `{result['weights']}` on {result['shapes']} shapes of bricks with "
        f"{result['points']} points, before and after training. The figures are relative errors of the layer's output "
        "against dense attention with the same weights, when every point reads itself and R others; means over "
        f"{result['seeds']} draws.",
        "",
        '- "average" is the mean of R layers with two keys each, as in the paper;',
        '- "one softmax" reads the R + 1 keys in one softmax;',
        '- "consistent" is the same with each of the others weighted (n - 1) / R;',
        '- "linear rest" adds the points that are not read through the sums of linear attention.',
        "",
        body,
        "",
        "## How it was made",
        "",
        *commands(result["command"]),
        "",
        f"{seconds:.0f} s on {machine['threads']} of {machine['cores']} cores.",
    ]
