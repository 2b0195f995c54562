"""What report.html shows of few-shot runs: the accuracy of every fold, and their mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..support.printable import printable
from .page import COLOURS, as_html, graph_objects, percent_axis, table

LABELS = {"accuracy": "one pass", "averaged_accuracy": "averaged over cycles"}
OTHER = '<p class="note">The tasks are not the same, so compare these figures with care.</p>'


def sections(runs: Mapping[str, Path]) -> list[str]:
    """The parts of the page, without its title and how the runs were made."""
    results = {name: json.loads((folder / "result.json").read_text("utf-8")) for name, folder in runs.items()}
    several = len(results) > 1
    used = {key: label for result in results.values() for key, label in _labels(result).items()}
    rows, folds = [], []
    for name, result in results.items():
        for key, label in _labels(result).items():
            own, whose = result["figures"][key], f"{name}, {label}" if several else label
            task = (f"{result['way']}-way {result['shot']}-shot", printable(Path(result["data"]).name))
            rows.append((whose, *task, f"{100 * own['mean']:.2f} %", f"{100 * own['deviation']:.2f}"))
        folds += [
            ((name,) if several else ())
            + (f"{one['fold'] + 1}", *(f"{100 * one[key]:.2f} %" if key in one else "-" for key in used))
            for one in result["folds"]
        ]
    return [
        *(f"<p>{escape(_task(name if several else '', result))}</p>" for name, result in results.items()),
        table(("", "task", "data", "mean", "deviation"), rows),
        *([] if len({_fair(result) for result in results.values()}) == 1 else [OTHER]),
        "<h2>Folds</h2>",
        as_html(chart(results), script=True),
        table((*(("run",) if several else ()), "fold", *used.values()), folds),
    ]


def _task(name: str, result: Mapping[str, Any]) -> str:
    queries, count = f"{result['queries']} queries per class", len(result["folds"])
    said = f"{result['way']}-way {result['shot']}-shot on {printable(Path(result['data']).name)}, {queries}"
    begin = f"{name}: " if name else ""
    return f"{begin}{said}, {count} folds; weights {printable(Path(str(result['weights'])).name)}."


def _fair(result: Mapping[str, Any]) -> tuple[Any, ...]:
    """What two runs must share to be compared."""
    return (*(result[key] for key in ("data", "way", "shot", "queries")), len(result["folds"]))


def _labels(result: Mapping[str, Any]) -> dict[str, str]:
    return {key: label for key, label in LABELS.items() if key in result["figures"]}


def chart(results: Mapping[str, Mapping[str, Any]]) -> Any:
    """One dot per fold and way to answer, and a line at the mean; of several runs one pass each."""
    page = graph_objects().Figure()
    several = len(results) > 1
    lines = [
        (name if several else label, result, key)
        for name, result in results.items()
        for key, label in list(_labels(result).items())[: 1 if several else None]
    ]
    for number, (label, result, key) in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        folds = [one for one in result["folds"] if key in one]
        page.add_scatter(
            x=[one["fold"] + 1 for one in folds],
            y=[one[key] for one in folds],
            name=label,
            mode="markers",
            marker={"color": colour, "size": 10},
            hovertemplate="fold %{x}: %{y:.2%}<extra></extra>",
        )
        page.add_hline(y=result["figures"][key]["mean"], line={"color": colour, "dash": "dot"})
    page.update_layout(height=360, template="plotly_white", showlegend=True, margin={"t": 20})
    page.update_xaxes(title="fold", dtick=1)
    percent_axis(page, title="accuracy")
    return page
