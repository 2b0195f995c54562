"""What the page of the demo shows of large sets: time and memory over the number of points, beside dense attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..inference.large_sets import Measured, guess
from .page import COLOURS, as_html, graph_objects, table

Rows = Sequence[tuple[str, Measured]]
Found = Mapping[str, Mapping[int, Measured]]  # by network and size


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
        *_table(rows, largest),
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
    sizes = sorted({one.points for _, one in rows})
    page.update_layout(height=360, template="plotly_white", showlegend=True, margin={"t": 20})
    page.update_xaxes(title="points", type="log", tickvals=sizes, ticktext=[f"{size:,}" for size in sizes])
    page.update_yaxes(title=title, type="log", exponentformat="none", dtick="D2")
    return page


def _table(rows: Rows, largest: int) -> list[str]:
    """One row per size, the networks beside each other, and in words what it comes to."""
    found: dict[str, dict[int, Measured]] = {}
    for name, one in rows:
        found.setdefault(name, {})[one.points] = one
    sizes = sorted({one.points for _, one in rows} | {largest})
    cells = [
        (
            f"{size:,}",
            *(f"{own[size].seconds:,.3g} s" if size in own else "-" for own in found.values()),
            *(_memory(own.get(size)) for own in found.values()),
        )
        for size in sizes
    ]
    head = ("points", *(f"{name}, time" for name in found), *(f"{name}, memory" for name in found))
    return [
        table(head, cells),
        *(f'<p class="note">{line}</p>' for line in [*_missing(found, largest), *_verdict(found)]),
    ]


def _memory(one: Measured | None) -> str:
    return "-" if one is None or one.megabytes is None else f"{one.megabytes:,.0f} MB"


def _missing(found: Found, largest: int) -> list[str]:
    """What a pass would take that was not made because it takes too long."""
    left_out = {name: list(own.values()) for name, own in found.items() if largest not in own}
    return [f"{escape(name)}, {largest:,} points: {guess(own, largest)}." for name, own in left_out.items()]


def _verdict(found: Found) -> list[str]:
    """The two networks at the largest size that both were measured at."""
    if not {"sampled", "dense"} <= set(found) or not (both := set(found["sampled"]) & set(found["dense"])):
        return []
    most = max(both)
    ours, theirs = found["sampled"][most], found["dense"][most]
    lines = [f"At {most:,} points, dense attention takes {theirs.seconds / ours.seconds:.1f} times as long as sampled."]
    if ours.megabytes and theirs.megabytes and 2 / 3 < ours.megabytes / theirs.megabytes < 3 / 2:
        lines.append("Both need about the same memory: torch's dense attention keeps no table of all pairs.")
    return [" ".join(lines)]
