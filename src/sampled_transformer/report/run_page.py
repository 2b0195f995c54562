"""report.html for one or several training runs: curves, confusion matrix and mistakes on one self-contained page.

regression_page.py has the parts that differ for networks that predict a number.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..support.atomic import atomic_write
from ..support.printable import printable
from .page import COLOURS, as_html, document, graph_objects

if TYPE_CHECKING:
    from ..inference.evaluation import Mistake

SIDE = 160  # pixels; side length of a shape's picture
COLUMNS: Mapping[str, Callable[[Mapping[str, float]], str]] = {  # of the table of figures, from the last epoch
    "test accuracy": lambda row: f"{100 * row['test_accuracy']:.2f} %",
    "mean over classes": lambda row: f"{100 * row['test_mean_class_accuracy']:.2f} %",
}


def write_report(path: Path, runs: Mapping[str, Path], title: str) -> None:
    """Write the page for finished runs. It shows the confusion matrix and the mistakes of the first one.

    Args:
        path: The file to write.
        runs: Run folders by name.
        title: Title of the page.
    """
    page = report(runs, title)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def report(runs: Mapping[str, Path], title: str) -> str:
    """The page as HTML; see `write_report`."""
    results = {name: _result(folder) for name, folder in runs.items()}
    metrics = {name: read_metrics(folder / "metrics.csv") for name, folder in runs.items()}
    whose = f" ({escape(next(iter(runs)))})" if len(runs) > 1 else ""
    if _target(results) is None:
        shown = _sections(runs, results, metrics, whose)
    else:
        from .regression_page import sections

        shown = sections(runs, results, metrics, whose)
    commands = (f"<p>{escape(name)}: <code>{escape(one['command'])}</code></p>" for name, one in results.items())
    return document(title, [f"<h1>{escape(title)}</h1>", *shown, "<h2>Commands</h2>", *commands])


def _target(results: Mapping[str, dict[str, Any]]) -> str | None:
    """The number that the networks predict; None for classes."""
    targets: list[str | None] = [result.get("regression", {}).get("name") for result in results.values()]
    for other in targets[1:]:
        if other != targets[0]:
            got = " and ".join("classes" if one is None else printable(one) for one in (targets[0], other))
            raise ValueError(f"runs: expected runs that predict the same, got {got}")
    return targets[0]


def _sections(
    runs: Mapping[str, Path],
    results: Mapping[str, dict[str, Any]],
    metrics: Mapping[str, Sequence[Mapping[str, float]]],
    whose: str,
) -> list[str]:
    """The parts of the page from the table of figures to the mistakes, for classes."""
    from ..inference.evaluation import mistakes

    first, folder = next(iter(runs.items()))
    wrong, count = mistakes(folder / "model.safetensors")
    shapes = sum(map(sum, results[first]["confusion"]))
    return [
        figures_table(results),
        "<h2>Training</h2>",
        as_html(curves(metrics, "train_loss", "training loss"), script=True),
        as_html(curves(metrics, "test_accuracy", "test accuracy", percent=True)),
        f"<h2>Confusion matrix{whose}</h2>",
        '<p class="note">Each row is a true class and adds up to 100 %; the diagonal shows correct answers.</p>',
        as_html(confusion(results[first]["confusion"], results[first]["classes"])),
        f"<h2>Mistakes{whose}</h2>",
        f"<p>{count} of {shapes} test shapes, highest probability first.</p>",
        f'<div class="parts">{"".join(map(figure, wrong))}</div>',
    ]


def _result(folder: Path) -> dict[str, Any]:
    try:
        result: dict[str, Any] = json.loads((folder / "result.json").read_text("utf-8"))
        if result["figures"]["last epoch"] is not None and (folder / "metrics.csv").is_file():
            return result
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise ValueError(f"runs: expected the folder of a run with at least one finished epoch, got {printable(folder)}")


def read_metrics(path: Path) -> list[dict[str, float]]:
    """The rows of metrics.csv, one per epoch, without empty cells."""
    with path.open(encoding="utf-8", newline="") as file:
        return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]


def figures_table(
    results: Mapping[str, dict[str, Any]], columns: Mapping[str, Callable[[Mapping[str, float]], str]] = COLUMNS
) -> str:
    """Table of the main figures of every run, after the last epoch; `columns` write those that depend on the task."""
    rows = []
    for name, result in results.items():
        last = result["figures"]["last epoch"]
        cells = [
            *(write(last) for write in columns.values()),
            f"{last['epoch']:.0f}",
            f"{result['parameters']:,}",
            f"{result['seconds']:.0f} s",
        ]
        cells = [f'<td class="number">{cell}</td>' for cell in cells]
        rows.append(f"<tr><td>{escape(name)}</td>{''.join(cells)}</tr>")
    names = (*columns, "epochs", "parameters", "time")
    head = "".join(f'<th class="number">{name}</th>' for name in names)
    some = next(iter(results.values()))
    note = f"Data: {escape(str(some['data']))}, {some['points']} points per shape. Figures after the last epoch."
    table = f"<table><thead><tr><th>run</th>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'{table}<p class="note">{note}</p>'


def curves(metrics: Mapping[str, Sequence[Mapping[str, float]]], key: str, title: str, percent: bool = False) -> Any:
    """Plot one metric over the epochs, one line per run."""
    plotly = graph_objects()
    page = plotly.Figure()
    for (name, rows), colour in zip(metrics.items(), COLOURS * len(metrics), strict=False):
        page.add_scatter(
            x=[row["epoch"] for row in rows],
            y=[row[key] for row in rows],
            name=name,
            mode="lines+markers",
            line={"color": colour},
        )
    page.update_layout(title=title, xaxis_title="epoch", height=360, template="plotly_white", showlegend=True)
    page.update_layout(margin={"l": 60, "r": 20, "t": 50, "b": 45}, xaxis={"dtick": max(1, _longest(metrics) // 10)})
    if percent:
        page.update_yaxes(tickformat=".0%")
    return page


def _longest(metrics: Mapping[str, Sequence[Any]]) -> int:
    return max(map(len, metrics.values()))


def confusion(matrix: Sequence[Sequence[int]], classes: Sequence[str]) -> Any:
    """Plot a confusion matrix: shares of each true class, with the counts on hover."""
    counts = np.array(matrix)
    shares = counts / counts.sum(1, keepdims=True).clip(1)
    page = graph_objects().Figure()
    page.add_heatmap(
        z=shares,
        x=list(classes),
        y=list(classes),
        customdata=counts,
        colorscale="Blues",
        zmin=0,
        zmax=1,
        hovertemplate="%{y} classified as %{x}: %{customdata} shapes, %{z:.0%}<extra></extra>",
    )
    side = 260 + 22 * len(classes)
    page.update_layout(height=side, width=side + 120, template="plotly_white", margin={"t": 20, "r": 20})
    page.update_xaxes(title="answer", tickangle=45, dtick=1)
    page.update_yaxes(title="truth", autorange="reversed", dtick=1)
    return page


def figure(mistake: Mistake) -> str:
    """A picture of a misclassified shape, with its true class and the answer."""
    caption = (
        f"<b>{escape(mistake.truth)}</b> classified as <b>{escape(mistake.answer)}</b> "
        f"({100 * mistake.probability:.0f} %)<br><span class='note'>{escape(mistake.name)}</span>"
    )
    return f"<figure>{drawing(mistake.points, mistake.normals)}<figcaption>{caption}</figcaption></figure>"


def drawing(points: np.ndarray, normals: np.ndarray | None = None) -> str:
    """Draw points as SVG, seen from the front right and slightly above; z is up.

    With normals, we omit points that face away and shade the others, so that they look like a surface. Without
    normals, nearer points are darker.
    """
    turn, tilt = np.radians(35), np.radians(25)
    right = np.array([np.cos(turn), -np.sin(turn), 0])
    away = np.array([np.sin(turn) * np.cos(tilt), np.cos(turn) * np.cos(tilt), -np.sin(tilt)])
    up = np.cross(right, away)
    flat, depth = points @ np.stack([right, -up], 1), points @ away
    low, high = flat.min(0), flat.max(0)
    scale = 0.92 * SIDE / max(float((high - low).max()), 1e-9)
    flat = (flat - (low + high) / 2) * scale + SIDE / 2
    light = (depth - depth.min()) / max(float(np.ptp(depth)), 1e-9)
    order = np.argsort(-depth)
    if normals is not None:
        light = (normals @ (up + right / 2 - away) / 1.5).clip(0, 1)
        order = order[(normals @ away <= 0.1)[order]]
    dots = [
        f'<circle cx="{flat[i, 0]:.1f}" cy="{flat[i, 1]:.1f}" r="2" fill="hsl(210 45% {28 + 52 * light[i]:.0f}%)"/>'
        for i in order
    ]
    return f'<svg viewBox="0 0 {SIDE} {SIDE}" role="img">{"".join(dots)}</svg>'
