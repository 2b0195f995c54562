"""What report.html shows of networks that predict a number: answers against truths, and the largest errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..inference.regression import Answers, ask
from ..support.atomic import atomic_write
from ..support.printable import printable
from .clouds import drawing
from .facts import facts
from .page import COLOURS, as_html, document, graph_objects, table
from .run_page import curves, figures_table

MOST = 24  # pictures
COLUMNS = {
    "test MAE": lambda row: f"{row['test_mae']:.4g}",
    "test RMSE": lambda row: f"{row['test_rmse']:.4g}",
    "test R²": lambda row: f"{row['test_r2']:.4f}",
}


def sections(
    runs: Mapping[str, Path],
    results: Mapping[str, dict[str, Any]],
    metrics: Mapping[str, Sequence[Mapping[str, float]]],
    whose: str,
) -> list[str]:
    """The parts of the page from the table of figures to the largest errors; the last two are of the first run."""
    found = ask(next(iter(runs.values())) / "model.safetensors")
    return [
        figures_table(results, COLUMNS),
        "<h2>Training</h2>",
        as_html(curves(metrics, "train_loss", "training loss"), script=True),
        as_html(curves(metrics, "test_mae", f"mean absolute error on test ({found.target.name})")),
        *about_answers(found, whose),
    ]


def write_page(path: Path, result: dict[str, Any], found: Answers) -> None:
    """Write the page for a result of `regression.evaluate`, and the answers."""
    title = f"{printable(Path(result['weights']).name)} on {printable(Path(result['data']).name)}"
    rows = [
        (way, f"{row['mae']:.4g}", f"{row['rmse']:.4g}", f"{row['r2']:.4f}") for way, row in result["figures"].items()
    ]
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(printable(result['target']))} of {result['shapes']} test shapes, "
        f"{result['points']} points each.</p>",
        table(("answers", "MAE", "RMSE", "R²"), rows),
        *about_answers(found, script=True),
        *facts({title: result}, {}),
    ]
    with atomic_write(path) as file:
        file.write(document(title, body).encode("utf-8"))


def about_answers(found: Answers, whose: str = "", script: bool = False) -> list[str]:
    """The parts of a page about the answers of one network. `script` embeds plotly's script into the first figure."""
    return [
        f"<h2>Answers{whose}</h2>",
        '<p class="note">One dot per test shape. Without errors, all dots would lie on the line.</p>',
        as_html(scatter(found), script),
        f"<h2>Largest errors{whose}</h2>",
        f"<p>Of {len(found.pack)} test shapes, largest first.</p>",
        f'<div class="parts">{"".join(figures(found))}</div>',
    ]


def scatter(found: Answers) -> Any:
    """Plot answers against truths."""
    truth, values = found.truth, found.values()
    ends = [float(min(truth.min(), values.min())), float(max(truth.max(), values.max()))]
    page = graph_objects().Figure()
    page.add_scatter(x=ends, y=ends, mode="lines", line={"color": "#999", "dash": "dot"}, name="no error")
    page.add_scatter(
        x=truth.tolist(),
        y=values.tolist(),
        customdata=[found.name(number) for number in range(len(values))],
        mode="markers",
        marker={"color": COLOURS[0], "opacity": 0.6},
        name="test shapes",
        hovertemplate="%{customdata}: truth %{x:.6g}, answer %{y:.6g}<extra></extra>",
    )
    page.update_layout(template="plotly_white", height=520, width=640, margin={"t": 20})
    page.update_xaxes(title=f"truth ({escape(found.target.name)})")
    page.update_yaxes(title="answer")
    return page


def figures(found: Answers) -> list[str]:
    """Pictures of the shapes with the largest errors, with truth and answer."""
    worst = found.worst(MOST)
    shapes, values = found.pack.batch(worst), found.values()
    pictures = []
    for row, number in enumerate(worst):
        normals = None if shapes.normals is None else shapes.normals[row].numpy()
        caption = (
            f"<b>{found.truth[number]:.4g}</b> answered as <b>{values[number]:.4g}</b>"
            f"<br><span class='note'>{escape(found.name(number))}</span>"
        )
        picture = drawing(shapes.points[row].numpy(), normals)
        pictures.append(f"<figure>{picture}<figcaption>{caption}</figcaption></figure>")
    return pictures
