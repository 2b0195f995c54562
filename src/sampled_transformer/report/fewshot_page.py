"""What report.html shows of few-shot runs: the accuracy of every fold, and their mean."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from .page import COLOURS, as_html, graph_objects, percent_axis, table

LABELS = {"accuracy": "one pass", "averaged_accuracy": "averaged over cycles"}


def sections(name: str, folder: Path) -> list[str]:
    """The parts of the page, without its title and how the run was made."""
    result = json.loads((folder / "result.json").read_text("utf-8"))
    task = f"{result['way']}-way {result['shot']}-shot on {result['data']}, {result['queries']} queries per class"
    figures = result["figures"]
    rows = [
        (LABELS[key], f"{100 * figures[key]['mean']:.2f} %", f"{100 * figures[key]['deviation']:.2f}")
        for key in LABELS
        if key in figures
    ]
    folds = [
        (f"{one['fold'] + 1}", *(f"{100 * one[key]:.2f} %" if key in one else "-" for key in LABELS))
        for one in result["folds"]
    ]
    return [
        f"<p>{escape(task)}; weights {escape(str(result['weights']))}.</p>",
        table((f"{len(folds)} folds", "mean", "deviation"), rows),
        "<h2>Folds</h2>",
        as_html(chart(result), script=True),
        table(("fold", *LABELS.values()), folds),
    ]


def chart(result: dict[str, Any]) -> Any:
    """One dot per fold and way to answer, and a line at the mean."""
    page = graph_objects().Figure()
    for (key, label), colour in zip(LABELS.items(), COLOURS, strict=False):
        folds = [one for one in result["folds"] if key in one]
        if not folds:
            continue
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
