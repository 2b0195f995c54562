"""Draw how the ids spread layer by layer: as text, and as an SVG picture."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from .contextual import Trace

WIDTH = 72
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bbbbbb", "#000000")
MARKS = "123456789abcdefghijklmnopqrstuvwxyz"


def layer_names(trace: Trace) -> list[str]:
    """The names of the layers of a trace that kept them."""
    selective = len(trace.layers) - 1 - len(trace.spread)
    psi, omega = (f"shift {k + 1}" for k in range(selective)), (f"all-max {k + 1}" for k in range(len(trace.spread)))
    return ["start", *psi, *omega]


def draw_text(trace: Trace, row: int) -> str:
    """Draw the ids of one input on a logarithmic scale, one line per layer. The marks are the token numbers."""
    lines = []
    top = _height(trace, max(trace.layers[-1][row]))
    for name, ids in zip(layer_names(trace), trace.layers, strict=True):
        line = [" "] * (WIDTH + 1)
        for token, identity in enumerate(ids[row]):
            place = round(WIDTH * _height(trace, identity) / top)
            line[place] = MARKS[token % len(MARKS)] if line[place] == " " else "*"
        lines.append(f"{name:>11} |{''.join(line).rstrip()}")
    return "\n".join(lines)


def spread_table(trace: Trace) -> list[list[str]]:
    """One row per layer: the largest id, the number of different ids, of tokens, and of ids shared by two inputs."""
    rows = []
    for name, ids in zip(layer_names(trace), trace.layers, strict=True):
        owners = Counter(identity for line in ids.tolist() for identity in set(line))
        shared = sum(count > 1 for count in owners.values())
        rows.append([name, _short(trace.setting.real(ids.max())), str(len(owners)), str(ids.size), str(shared)])
    return rows


def draw_svg(trace: Trace, most: int = 64) -> str:
    """Plot ids against layers: one line per token for up to `most` inputs, coloured by token."""
    wide, high, left, below = 900, 520, 70, 40
    top = math.ceil(_height(trace, trace.layers[-1].max()))
    across = (wide - left - 20) / (len(trace.layers) - 1)
    up = (high - below - 30) / top
    shown = min(most, len(trace.inputs))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="12">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
        f'<text x="{left}" y="18">ids of {shown} inputs, layer by layer ({trace.setting})</text>',
    ]
    for power in range(0, top + 1, max(1, top // 8)):
        y = high - below - up * power
        parts.append(f'<line x1="{left}" x2="{wide - 20}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">1e{power}</text>')
    for row in range(shown):
        for token in range(trace.setting.n):
            points = " ".join(
                f"{left + across * layer:.1f},{high - below - up * _height(trace, ids[row, token]):.1f}"
                for layer, ids in enumerate(trace.layers)
            )
            colour = COLOURS[token % len(COLOURS)]
            parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-opacity="0.5"/>')
    for token in range(trace.setting.n):
        colour, x = COLOURS[token % len(COLOURS)], left + 70 * token
        parts.append(f'<text x="{x}" y="{high - 12}" fill="{colour}">token {token + 1}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _height(trace: Trace, identity: int) -> float:
    """log10(1 + id / delta). It also works for integers that are too large for a float."""
    return math.log10(1 + int(identity) // 2)


def _short(value: Fraction) -> str:
    """A number in at most about ten characters."""
    text, whole = str(value), str(int(value))
    return text if len(text) <= 10 else f"{whole[0]}.{whole[1:3]}e{len(whole) - 1}"
