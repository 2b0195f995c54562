"""Reliability diagrams: a page for one evaluation, and tables for the page of results."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from ..data.atomic import atomic_write
from ..tasks.calibration import table
from ..tasks.studies import Study
from .measured import Measured
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


def calibration_section(study: Study, rows: list[Measured]) -> list[str]:
    lines = [
        "Of all answers that are given with a probability of 80 %, 80 % should be right. The calibration error is the "
        "mean over shapes of the difference between the two, in ten bins of the probability.",
    ]
    for row in rows:
        result = row.runs[0]
        head = f"The weights `{row.label}` on {result['shapes']} test shapes, {result['points']} points:"
        lines += ["", f"### {row.label}", "", head, "", *tables(result)]
    return lines


def tables(result: dict[str, Any]) -> Iterator[str]:
    found = result["calibration"]
    yield "| way to ask | right % | mean probability % | calibration error | log loss |"
    yield "|---|---|---|---|---|"
    for name, way in found["ways"].items():
        percent = [100 * way[key] for key in ("accuracy", "probability", "error")]
        yield f"| {name} | {percent[0]:.2f} | {percent[1]:.2f} | {percent[2]:.2f} | {way['log_loss']:.3f} |"
    for name, way in found["ways"].items():
        rows = way["bins"]
        cells = {
            "probability %": [f"{100 * row['probability']:.0f}" for row in rows],
            "right %": [f"{100 * row['accuracy']:.0f}" for row in rows],
            "shapes": [str(row["shapes"]) for row in rows],
        }
        yield ""
        yield f"| {name}, bins |" + " |" * len(rows)
        yield "|---|" + "---|" * len(rows)
        for label, values in cells.items():
            yield f"| {label} | " + " | ".join(values) + " |"
    if "spread" in found:
        rows = found["spread"]["fifths"]
        numbers = [str(number + 1) for number in range(len(rows))]
        yield from (
            "",
            f"| fifth of the shapes, steadiest first | {' | '.join(numbers)} |",
            "|---|" + "---|" * len(rows),
        )
        for label, key in (("spread over cycles, points", "spread"), ("right %", "accuracy")):
            yield f"| {label} | " + " | ".join(f"{100 * row[key]:.1f}" for row in rows) + " |"
        chance = found["spread"]["finds_mistakes"]
        if chance["spread"] is not None:
            yield ""
            yield (
                f"A wrong answer has a larger spread than a right one with a chance of {chance['spread']:.3f}, and a "
                f"lower probability with {chance['probability']:.3f}."
            )
