"""report.html for one or several training runs: curves, confusion matrix and mistakes on one self-contained page.

regression_page.py and segment_page.py have the parts that differ for networks that predict a number or label points.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..support.atomic import atomic_write
from ..support.printable import brief, printable
from .facts import duration, facts
from .kinds import EVALUATIONS, TRAININGS, one_kind
from .page import COLOURS, as_html, document, graph_objects, percent_axis, table

COLUMNS: Mapping[str, Callable[[Mapping[str, float]], str]] = {  # of the table of figures, from the last epoch
    "test accuracy": lambda row: f"{100 * row['test_accuracy']:.2f} %",
    "mean over classes": lambda row: f"{100 * row['test_mean_class_accuracy']:.2f} %",
}


def write_report(
    path: Path, runs: Mapping[str, Path], title: str, first: Sequence[str] = (), last: Sequence[str] = ()
) -> None:
    """Write the page for finished runs, or for evaluations. It shows the mistakes of the first run.

    Args:
        path: The file to write.
        runs: Run folders by name.
        title: Title of the page.
        first, last: Further parts below the title, and behind all else but how the runs were made.
    """
    page = report(runs, title, first, last)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def report(runs: Mapping[str, Path], title: str, first: Sequence[str] = (), last: Sequence[str] = ()) -> str:
    """The page as HTML; see `write_report`."""
    kind = one_kind(runs.values())
    if kind not in TRAININGS:
        return _other_page(kind, runs, title)
    results = {name: _result(folder) for name, folder in runs.items()}
    metrics = {name: read_metrics(folder / "metrics.csv") for name, folder in runs.items()}
    whose = f" ({escape(next(iter(runs)))})" if len(runs) > 1 else ""
    if kind == "segment train":
        from .segment_page import sections as segment_sections

        shown = segment_sections(runs, results, metrics, whose)
    elif _target(results) is None:
        shown = _sections(runs, results, metrics, whose)
    else:
        from .regression_page import sections

        shown = sections(runs, results, metrics, whose)
    return document(title, [f"<h1>{escape(title)}</h1>", *first, *shown, *last, *facts(results, runs)])


def _other_page(kind: str, runs: Mapping[str, Path], title: str) -> str:
    """The page of runs that are no training of classes or numbers, or of evaluations."""
    from . import cluster_page, comparison, fewshot_page, pretrain_page

    modules = {"pretrain": pretrain_page, "fewshot": fewshot_page, "cluster train": cluster_page}
    body = comparison.sections(kind, runs) if kind in EVALUATIONS else modules[kind].sections(runs)
    return document(title, [f"<h1>{escape(title)}</h1>", *body, *facts(comparison.read(runs), runs)])


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
    """The parts of the page from the table of figures to the calibration, for classes."""
    from ..inference.review import Review
    from .answers import calibration_section, sections

    review = Review.of(next(iter(runs.values())) / "model.safetensors")
    return [
        figures_table(results),
        "<h2>Training</h2>",
        as_html(curves(metrics, "train_loss", "training loss"), script=True),
        as_html(curves(metrics, "test_accuracy", "test accuracy", percent=True)),
        *classes_beside(results),
        *sections(review, whose),
        *calibration_section(review, whose),
    ]


def classes_beside(results: Mapping[str, dict[str, Any]], iou: bool = False) -> list[str]:
    """How well several runs recognise each class, or their IoU; nothing of one run, whose classes have a table."""
    from .comparison import by_class

    known = {name: result for name, result in results.items() if "confusion" in result}
    if len(known) < 2:
        return []
    shares: dict[str, dict[str, float | None]] = {}
    for name, result in known.items():
        counts = np.array(result["confusion"])
        right, all_of_it = counts.diagonal(), counts.sum(1) + (counts.sum(0) - counts.diagonal() if iou else 0)
        shares[name] = {
            printable(own): float(right[number] / all_of_it[number]) if counts[number].sum() else None
            for number, own in enumerate(result["classes"])
        }
    return by_class(shares, "IoU" if iou else "recognised", "Classes, run beside run")


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
        try:
            return [{name: float(value) for name, value in row.items() if value} for row in csv.DictReader(file)]
        except (ValueError, TypeError, csv.Error) as error:  # also of text that is no UTF-8, or rows that are too long
            raise ValueError(
                f"{printable(path)}: expected a table of numbers, got others ({brief(str(error))})"
            ) from None


def figures_table(
    results: Mapping[str, dict[str, Any]], columns: Mapping[str, Callable[[Mapping[str, float]], str]] = COLUMNS
) -> str:
    """Table of the main figures of every run, after the last epoch; `columns` write those that depend on the task."""
    rows = []
    for name, result in results.items():
        last = result["figures"]["last epoch"]
        cells = (f"{last['epoch']:.0f}", f"{result['parameters']:,}", duration(result["seconds"]))
        rows.append((name, *(write(last) for write in columns.values()), *cells))
    some = next(iter(results.values()))
    note = f"Data: {escape(str(some['data']))}, {some['points']} points per shape. Figures after the last epoch."
    return f'{table(("run", *columns, "epochs", "parameters", "time"), rows)}<p class="note">{note}</p>'


def curves(metrics: Mapping[str, Sequence[Mapping[str, float]]], key: str, title: str, percent: bool = False) -> Any:
    """Plot one metric over the epochs, one line per run."""
    plotly = graph_objects()
    page = plotly.Figure()
    for (name, rows), colour in zip(metrics.items(), COLOURS * len(metrics), strict=False):
        page.add_scatter(
            x=[row["epoch"] for row in rows if key in row],
            y=[row[key] for row in rows if key in row],
            name=name,
            mode="lines+markers",
            line={"color": colour},
        )
    page.update_layout(title=title, xaxis_title="epoch", height=320, template="plotly_white")
    page.update_layout(showlegend=len(metrics) > 1)  # the name of one run is in the table above
    page.update_layout(margin={"l": 60, "r": 20, "t": 15, "b": 45}, xaxis={"dtick": max(1, _longest(metrics) // 10)})
    if percent:
        percent_axis(page)
    return page


def _longest(metrics: Mapping[str, Sequence[Any]]) -> int:
    return max(map(len, metrics.values()))
