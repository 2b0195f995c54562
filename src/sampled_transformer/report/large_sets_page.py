"""What the page of the demo shows of large sets: time and memory over the number of points, beside dense attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..inference.large_sets import Measured, guess
from .page import COLOURS, as_html, graph_objects, table

Rows = Sequence[tuple[str, Measured]]


def small_sets(rows: Rows, accuracies: Mapping[str, float], points: int) -> str:
    """What the comparison of sampled and dense attention says at the size of the training."""
    found = {name: one for name, one in rows if one.points == points}
    sampled, dense = (100 * accuracies[name] for name in ("sampled", "dense"))
    worse = "less" if sampled < dense else "more" if sampled > dense else "equally"
    ours, theirs = (1000 * found[name].seconds for name in ("sampled", "dense"))
    ratio = ours / theirs
    takes = "about as long as" if 0.8 <= ratio <= 1.25 else f"{ratio:.1f} times as long as"
    return (
        f"<p>With {points:,} points per part, sampled attention takes {takes} dense attention ({ours:.0f} and "
        f"{theirs:.0f} ms for one part) and is {worse} accurate in this run ({sampled:.1f} and {dense:.1f} % in one "
        'pass). Linear cost matters for <a href="#large-sets">large sets</a>.</p>'
    )


def sections(rows: Rows, largest: int) -> list[str]:
    """The part of the page about large sets."""
    return [
        '<h2 id="large-sets">Large sets</h2>',
        f"<p>The same two networks classify one set of up to {largest:,} points in one pass, each in a fresh process, "
        "measured when this page was made. Both axes are logarithmic, so a power of the number of points is a straight "
        "line.</p>",
        as_html(chart(rows, "seconds", "seconds")),
        *(
            [as_html(chart(rows, "megabytes", "MB that the pass adds"))]
            if any(one.megabytes for _, one in rows)
            else []
        ),
        table(("network", "points", "time", "memory"), _cells(rows, largest)),
    ]


def chart(rows: Rows, key: str, title: str) -> Any:
    """One line per network; a pass that added no memory is left out."""
    page = graph_objects().Figure()
    for name, colour in zip(dict.fromkeys(name for name, _ in rows), COLOURS, strict=False):
        own = [(one.points, getattr(one, key)) for other, one in rows if other == name and getattr(one, key)]
        page.add_scatter(
            x=[points for points, _ in own],
            y=[value for _, value in own],
            name=name,
            mode="lines+markers",
            line={"color": colour},
        )
    page.update_layout(height=360, template="plotly_white", showlegend=True, margin={"t": 20})
    page.update_xaxes(title="points", type="log")
    page.update_yaxes(title=title, type="log", exponentformat="none")
    return page


def _cells(rows: Rows, largest: int) -> list[tuple[str, ...]]:
    cells: list[tuple[str, ...]] = []
    for name in dict.fromkeys(name for name, _ in rows):
        own = [one for other, one in rows if other == name]
        for one in own:
            memory = "-" if one.megabytes is None else f"{one.megabytes:,.0f} MB"
            cells.append((name, f"{one.points:,}", f"{one.seconds:,.3g} s", memory))
        if own[-1].points < largest:
            cells.append((name, f"{largest:,}", guess(own, largest), "-"))
    return cells
