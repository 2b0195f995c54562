"""Reliability diagrams: a page for one evaluation, and tables for the page of results."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from ..inference.calibration import table
from ..support.atomic import atomic_write
from .page import COLOURS, as_html, document, graph_objects


def write_page(path: Path, result: dict[str, Any]) -> None:
    """Write the page of a result of `evaluate`."""
    page = calibration_page(result)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def calibration_page(result: dict[str, Any]) -> str:
    found = result["calibration"]
    title = f"Calibration on {result['data']}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{result['shapes']} test shapes, {result['points']} points each. A network is calibrated if of all answers "
        "it gives with 80 % about 80 % are right: its points lie on the diagonal. Above it the network is too modest, "
        "below it too sure.</p>",
        as_html(diagram(found["ways"]), script=True),
    ]
    if "spread" in found:
        body += ["<h2>Spread over cycles</h2>", as_html(fifths(found["spread"]["fifths"]))]
    return document(title, [*body, f"<pre>{escape(table(found))}</pre>"])


def diagram(ways: dict[str, Any]) -> Any:
    """Share of right answers by the probability of the answer; the larger a dot the more shapes."""
    page = graph_objects().Figure()
    page.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": "#999", "dash": "dot"}, name="calibrated")
    for (name, way), colour in zip(ways.items(), COLOURS, strict=False):
        rows = way["bins"]
        most = max(row["shapes"] for row in rows)
        page.add_scatter(
            x=[row["probability"] for row in rows],
            y=[row["accuracy"] for row in rows],
            customdata=[row["shapes"] for row in rows],
            mode="lines+markers",
            name=name,
            line={"color": colour},
            marker={"size": [6 + 18 * (row["shapes"] / most) ** 0.5 for row in rows]},
            hovertemplate="says %{x:.0%}, right in %{y:.0%} of %{customdata} shapes<extra></extra>",
        )
    page.update_layout(template="plotly_white", height=520, width=640, margin={"t": 20})
    page.update_xaxes(title="probability of the answer", range=[0, 1.03], tickformat=".0%")
    page.update_yaxes(title="right answers", range=[0, 1.03], tickformat=".0%")
    return page


def fifths(rows: list[dict[str, Any]]) -> Any:
    """Right answers and their probability by the spread over cycles."""
    page = graph_objects().Figure()
    for key, name, colour in (("accuracy", "right answers", COLOURS[0]), ("probability", "probability", COLOURS[1])):
        page.add_scatter(
            x=[row["spread"] for row in rows],
            y=[row[key] for row in rows],
            mode="lines+markers",
            name=name,
            line={"color": colour},
        )
    page.update_layout(template="plotly_white", height=360, width=640, margin={"t": 20})
    page.update_xaxes(title="standard deviation over cycles, mean of a fifth of the shapes", tickformat=".1%")
    page.update_yaxes(range=[0, 1.03], tickformat=".0%")
    return page
