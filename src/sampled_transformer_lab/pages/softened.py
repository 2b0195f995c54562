"""The page on the last stage of the proof: the errors of softmax heads and ReLU ramps against tau and the ramps."""

from __future__ import annotations

from typing import Any

from ..softened import FLOAT_BITS, power, tables
from .markdown import commands


def softened_section(result: dict[str, Any]) -> list[str]:
    machine = result["machine"]
    smallest = min(row["tau"] for row in result["grids"][0]["temperatures"])
    return [
        "The proof's network with softmax heads at the temperature tau instead of hardmax heads, and ReLU ramps "
        f"instead of steps, against the exact network; both approximate the function `{result['function']}`. "
        "[The proof as a program](../theory.md#with-softmax-and-relu) explains the construction.",
        "",
        "- A grid is given by n points, d features and delta. Its layers are those of the quantisation, the attention "
        "and the value mapping.",
        '- "gap of scores" is the smallest difference g of two scores that a head compares, and "measured" the g of '
        "exp(-g / tau) that fits the two smallest errors of ids.",
        f"- Errors off the ramps are maxima over all cells. While tau changes, ramps take {power(result['ramp'])} of "
        f"each cell; while ramps change, tau is {power(smallest)}.",
        f'- d_{result["p"]} is the distance of Eq. 2, with {result["samples"]:,} random inputs on ramps. "Clipped" '
        "adds a last layer that keeps outputs in the range of the function.",
        f"- 0 is exact: the same float64 number. Ids of more than {FLOAT_BITS} bits are rounded in float64.",
        "",
        "\n".join(tables(result)),
        "",
        "## How it was made",
        "",
        *commands(result["command"]),
        "",
        f"{result['seconds']:.0f} s on {machine['threads']} of {machine['cores']} cores, in float64.",
    ]
