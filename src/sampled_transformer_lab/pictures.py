"""The picture of the README: dense attention, a random cycle, sampled attention, drawn from a `Cycle`.

`python -m sampled_transformer_lab.pictures` writes docs/pictures/cycle.svg. The colours have middling brightness and
the background is transparent, so that one file suits light and dark pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import torch

from sampled_transformer.cycles import Cycle

POINTS, SEED = 12, 7
SIDE, TOP, GAP = 252, 44, 72  # of a panel
INK, FAINT, BLUE, ORANGE = "#7d8794", "#7d879438", "#3f83d6", "#e8833a"
FONT = "font-family='system-ui, sans-serif' text-anchor='middle'"


def cycle_picture(cycle: Cycle, chosen: int = 0) -> str:
    """The three panels as SVG; the row and the edge of one chosen point stand out."""
    dense = torch.ones(cycle.n, cycle.n, dtype=torch.bool)
    n = cycle.n
    panels = [
        ("Dense attention", f"every point reads all: n² = {n * n} pairs", pattern(dense, chosen)),
        ("A random cycle", f"point {chosen + 1} is followed by {_successor(cycle, chosen) + 1}", walk(cycle, chosen)),
        ("Sampled attention", f"itself and its successor: 2n = {2 * n} pairs", pattern(cycle.mask()[0], chosen)),
    ]
    width, height = 3 * SIDE + 4 * GAP, SIDE + TOP + 52
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}'>",
        "<title>Dense attention, a random cycle through the points, sampled attention</title>",
        f"<defs>{_arrow_head('blue', BLUE)}{_arrow_head('orange', ORANGE)}</defs>",
    ]
    for number, (title, caption, shapes) in enumerate(panels):
        left = GAP + number * (SIDE + GAP)
        lines += [
            f"<g transform='translate({left} {TOP})'>",
            f"<text x='{SIDE / 2:g}' y='-18' {FONT} font-size='19' font-weight='600' fill='{INK}'>{title}</text>",
            *shapes,
            f"<text x='{SIDE / 2:g}' y='{SIDE + 30}' {FONT} font-size='15' fill='{INK}'>{caption}</text>",
            "</g>",
        ]
    return "\n".join([*lines, "</svg>", ""])


def pattern(mask: torch.Tensor, chosen: int) -> Iterator[str]:
    """A matrix: row k has a full cell where point k reads the column's point."""
    n = mask.shape[0]
    cell = SIDE / n
    for row in range(n):
        for column in range(n):
            fill = (ORANGE if row == chosen else BLUE) if mask[row, column] else FAINT
            kind = "read" if mask[row, column] else "unread"
            yield (
                f"<rect class='{kind}' x='{column * cell + 1:g}' y='{row * cell + 1:g}' width='{cell - 2:g}' "
                f"height='{cell - 2:g}' rx='3' fill='{fill}'/>"
            )


def walk(cycle: Cycle, chosen: int) -> Iterator[str]:
    """The points, and an arrow from each to its successor."""
    places = ring(cycle.n)
    for point, (x, y) in enumerate(places):
        across, down = places[_successor(cycle, point)]
        length = math.hypot(across - x, down - y)
        step_x, step_y = 15 * (across - x) / length, 15 * (down - y) / length  # from rim to rim
        name, colour, width = ("orange", ORANGE, 3) if point == chosen else ("blue", BLUE, 1.6)
        yield (
            f"<line x1='{x + step_x:.1f}' y1='{y + step_y:.1f}' x2='{across - step_x:.1f}' y2='{down - step_y:.1f}' "
            f"stroke='{colour}' stroke-width='{width}' marker-end='url(#{name})'/>"
        )
    for point, (x, y) in enumerate(places):
        colour = ORANGE if point == chosen else INK
        yield f"<circle cx='{x:.1f}' cy='{y:.1f}' r='12' fill='none' stroke='{colour}' stroke-width='1.6'/>"
        yield (
            f"<text x='{x:.1f}' y='{y + 4.5:.1f}' {FONT} font-size='13' font-weight='600' fill='{colour}'>"
            f"{point + 1}</text>"
        )


def ring(n: int) -> list[tuple[float, float]]:
    """Places of the points: on a circle, so that no arrow passes through a point."""
    angles = [2 * math.pi * point / n - math.pi / 2 for point in range(n)]
    radius = SIDE / 2 - 14
    return [(SIDE / 2 + radius * math.cos(angle), SIDE / 2 + radius * math.sin(angle)) for angle in angles]


def _successor(cycle: Cycle, point: int) -> int:
    return int(cycle.successor[0, point])


def _arrow_head(name: str, colour: str) -> str:
    return (
        f"<marker id='{name}' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='9' markerHeight='9' "
        f"markerUnits='userSpaceOnUse' orient='auto'><path d='M0 0.5 L8 4 L0 7.5 z' fill='{colour}'/></marker>"
    )


def main(path: Path = Path("docs/pictures/cycle.svg")) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(cycle_picture(Cycle.from_seed(SEED, POINTS)), "utf-8")
    print(f"{path}: written")


if __name__ == "__main__":
    main()
