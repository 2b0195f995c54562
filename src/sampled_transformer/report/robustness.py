"""The robustness page of one evaluation: accuracy against severity, one curve per corruption."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..support.atomic import atomic_write
from ..support.printable import printable
from .facts import facts
from .page import COLOURS, as_html, document, graph_objects, table


def write_page(path: Path, result: dict[str, Any]) -> None:
    """Write the page for a result of `evaluate_robustness`."""
    page = robustness_page(result)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def robustness_page(result: dict[str, Any]) -> str:
    """The robustness page as HTML."""
    title = f"Robustness of {result['weights']} on {result['data']}"
    normals = " with normals" if result["normals"] else ""
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{result['shapes']} test shapes, {result['points']} points{normals}. Every shape is corrupted first and "
        "then treated as <code>predict</code> treats a file: as many points as the network reads, normalised. The "
        f"dotted line is the accuracy on clean shapes, {100 * result['clean']['accuracy']:.1f} %.</p>",
    ]
    for number, curve in enumerate(result["corruptions"].values()):
        body.append(f"<h2>{escape(curve['title'])}</h2>")
        body.append(as_html(diagram(curve, result["clean"]["accuracy"]), script=number == 0))
        body.append(_levels(curve))
        for row in curve["left_out"]:
            body.append(f'<p class="note">{row["severity"]} left out, because {escape(row["reason"])}.</p>')
    return document(title, [*body, *facts({title: result}, {})])


def _levels(curve: dict[str, Any]) -> str:
    """The numbers of a curve."""
    levels = curve["levels"]
    rows = [
        (name, *(f"{100 * row[key]:.1f} %" for row in levels))
        for key, name in (("accuracy", "accuracy"), ("mean_class_accuracy", "mean over classes"))
    ]
    return table((curve["unit"], *(str(row["severity"]) for row in levels)), rows)


def diagram(curve: dict[str, Any], clean: float) -> Any:
    """Accuracy against severity. Numbers of points and factors are on a logarithmic axis, kinds of normals on none."""
    page = graph_objects().Figure()
    x = [row["severity"] for row in curve["levels"]]
    for key, name, colour in (
        ("accuracy", "accuracy", COLOURS[0]),
        ("mean_class_accuracy", "mean over classes", COLOURS[5]),
    ):
        page.add_scatter(
            x=x,
            y=[row[key] for row in curve["levels"]],
            mode="lines+markers",
            name=name,
            line={"color": colour},
            hovertemplate="%{x}: %{y:.1%}<extra></extra>",
        )
    page.add_hline(y=clean, line={"color": "#999", "dash": "dot"})
    _axes(page, curve["unit"], x)
    return page


def beside(curves: Mapping[str, dict[str, Any]]) -> Any:
    """Accuracy against severity of one corruption, one line per network."""
    page = graph_objects().Figure()
    for number, (name, curve) in enumerate(curves.items()):
        page.add_scatter(
            x=[row["severity"] for row in curve["levels"]],
            y=[row["accuracy"] for row in curve["levels"]],
            mode="lines+markers",
            name=printable(name),
            line={"color": COLOURS[number % len(COLOURS)]},
            hovertemplate="%{x}: %{y:.1%}<extra></extra>",
        )
    first = next(iter(curves.values()))
    severities = dict.fromkeys(row["severity"] for curve in curves.values() for row in curve["levels"])
    _axes(page, first["unit"], list(severities))
    page.update_layout(showlegend=True)
    return page


def _axes(page: Any, unit: str, x: list[Any]) -> None:
    kinds = any(isinstance(level, str) for level in x)
    spread = not kinds and x and min(x) > 0 and max(x) / min(x) >= 8 and max(x) > 1 and "degrees" not in unit
    page.update_layout(template="plotly_white", height=380, width=640, margin={"t": 20})
    ticks = {"type": "log", "tickvals": x} if spread else {}
    page.update_xaxes(title=unit, **ticks)
    page.update_yaxes(title="accuracy", range=[0, 1.03], tickformat=".0%")
