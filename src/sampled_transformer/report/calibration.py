"""What pages show of a calibration: a reliability diagram, and accuracy by spread over cycles."""

from __future__ import annotations

from html import escape
from typing import Any

from ..inference.calibration import table
from .page import COLOURS, as_html, graph_objects


def sections(found: dict[str, Any], script: bool = False) -> list[str]:
    """The parts of a page about a calibration. `script` embeds plotly's script into the first figure."""
    body = [
        "<h2>Calibration</h2>",
        "<p>A network is calibrated if about 80 % of the answers to which it gives a probability of 80 % are correct: "
        "its points lie on the diagonal. Above the diagonal the network is underconfident, below it overconfident.</p>",
        as_html(diagram(found["ways"] | _before(found)), script),
    ]
    if "spread" in found:
        body += ["<h2>Spread over cycles</h2>", as_html(fifths(found["spread"]["fifths"]))]
    return [*body, f"<pre>{escape(table(found))}</pre>"]


def _before(found: dict[str, Any]) -> dict[str, Any]:
    """The ways to ask without the temperature of the network, if it has one."""
    return {f"{name}, before the temperature": way for name, way in found.get("before", {}).items()}


def diagram(ways: dict[str, Any], counted: str = "shapes") -> Any:
    """Reliability diagram: accuracy against the probability of the answer. Larger dots stand for more of `counted`."""
    page = graph_objects().Figure()
    page.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line={"color": "#999", "dash": "dot"}, name="calibrated")
    for (name, way), colour in zip(ways.items(), COLOURS, strict=False):
        rows = way["bins"]
        most = max(row[counted] for row in rows)
        page.add_scatter(
            x=[row["probability"] for row in rows],
            y=[row["accuracy"] for row in rows],
            customdata=[row[counted] for row in rows],
            mode="lines+markers",
            name=name,
            line={"color": colour},
            marker={"size": [6 + 18 * (row[counted] / most) ** 0.5 for row in rows]},
            hovertemplate=f"probability %{{x:.0%}}, accuracy %{{y:.0%}}, %{{customdata}} {counted}<extra></extra>",
        )
    page.update_layout(template="plotly_white", height=520, width=640, margin={"t": 20})
    page.update_xaxes(title="probability of the answer", range=[0, 1.02], tickformat=".0%")
    page.update_yaxes(title="accuracy", range=[0, 1.02], tickformat=".0%")
    return page


def fifths(rows: list[dict[str, Any]]) -> Any:
    """Accuracy and probability against the spread over cycles, for five equal groups of shapes."""
    page = graph_objects().Figure()
    for key, name, colour in (("accuracy", "accuracy", COLOURS[0]), ("probability", "probability", COLOURS[1])):
        page.add_scatter(
            x=[row["spread"] for row in rows],
            y=[row[key] for row in rows],
            mode="lines+markers",
            name=name,
            line={"color": colour},
        )
    page.update_layout(template="plotly_white", height=360, width=640, margin={"t": 20})
    page.update_xaxes(title="standard deviation over cycles (mean over a fifth of the shapes)", tickformat=".1%")
    page.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return page
