"""The page of one `segment evaluate`: IoU per class, confused classes, the worst sets and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from ..data.axes import turn
from ..inference.worst_sets import MOST_POINTS, LabelledSet
from ..support.atomic import atomic_write
from ..support.printable import printable
from .answers import confusion
from .calibration import diagram
from .clouds import Turnable, side_by_side
from .facts import facts
from .page import COLOURS, as_html, document, graph_objects, table
from .segment_page import class_parts, class_table

RIGHT = "#9aa3ad"  # of points whose answer is right, between the light and the dark paper
FIGURES = {
    "mean_iou": "mean IoU",
    "accuracy": "points right",
    "instance_mean_iou": "mean IoU over sets",
    "category_mean_iou": "mean IoU over categories",
}


def write_page(path: Path, result: dict[str, Any], worst: Sequence[LabelledSet]) -> None:
    """Write the page for a result of `evaluate_points`, and its worst sets."""
    page = evaluation_page(result, worst)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def evaluation_page(result: dict[str, Any], worst: Sequence[LabelledSet]) -> str:
    """The page as HTML."""
    title = f"{printable(Path(result['weights']).name)} on {printable(Path(result['data']).name)}"
    classes = [printable(one["class"]) for one in result["classes"]]
    rows = [(label, f"{100 * result[key]:.2f} %") for key, label in FIGURES.items() if key in result]
    left_out = f", without {', '.join(map(printable, result['without']))}" if result["without"] else ""
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{result['sets']:,} sets of the {escape(result['split'])} split{escape(left_out)}.</p>",
        table(("figure", "value"), rows),
        "<h2>Classes</h2>",
        as_html(bars(result["classes"]), script=True),
        class_table(result["confusion"], classes),
        "<h2>Confusion matrix</h2>",
        '<p class="note">Each row is a true class and adds up to 100 %; the diagonal shows correct answers. The '
        "numbers are points.</p>",
        as_html(confusion(result["confusion"], classes, "points"), least_width=200 + 60 * len(classes)),
        *_worst(result, worst, classes),
        "<h2>Calibration</h2>",
        '<p class="note">Right as often as it says: dots on the diagonal. Below it, the network is overconfident. '
        "Larger dots stand for more points.</p>",
        as_html(diagram({"all labelled points": result["calibration"]}, "points")),
        _confidence(result["calibration"]),
        *facts({title: result}, {}),
    ]
    return document(title, body)


def bars(classes: Sequence[dict[str, Any]]) -> Any:
    """The IoU of every class that has points, from 0 to 100 %."""
    there = [one for one in classes if one["iou"] is not None]
    page = graph_objects().Figure()
    page.add_bar(
        x=[one["iou"] for one in there],
        y=[printable(one["class"]) for one in there],
        orientation="h",
        marker={"color": COLOURS[0]},
        text=[f"{100 * one['iou']:.1f} %" for one in there],
        textposition="auto",
        hovertemplate="%{y}: IoU %{x:.1%}<extra></extra>",
    )
    page.update_layout(height=120 + 26 * len(there), template="plotly_white", margin={"t": 20, "r": 20})
    page.update_xaxes(title="IoU", range=[0, 1], tickformat=".0%")
    page.update_yaxes(autorange="reversed", dtick=1)
    return page


def _worst(result: dict[str, Any], worst: Sequence[LabelledSet], classes: Sequence[str]) -> list[str]:
    if not worst:
        return []
    shown = [
        as_html(beside(one, said, classes, result["up"])) for one, said in zip(worst, result["worst"], strict=True)
    ]
    some = f" A set is drawn with at most {MOST_POINTS:,} of its points."
    note = (
        "Lowest mean IoU first. Left the true classes. Right the mistakes, in the colour of the wrong answer; points "
    )
    return ["<h2>Worst sets</h2>", f'<p class="note">{note}that are right are grey.{some}</p>', *shown]


def beside(one: LabelledSet, said: dict[str, Any], classes: Sequence[str], up: str) -> Any:
    """The true classes of a set beside the mistakes; a class has one colour on both sides."""
    points = turn(one.points, up)
    wrong = (one.answers != one.truth) & (one.truth >= 0)
    figures = f"IoU {100 * one.iou:.1f} %, right {100 * one.right:.1f} %"
    parts = [
        ("right or without a label", points[~wrong], RIGHT),
        *class_parts(points[wrong], one.answers[wrong], classes),
    ]
    return side_by_side(
        [
            Turnable(f"{printable(said['set'])}\ntruth", class_parts(points, one.truth, classes)),
            Turnable(f"mistakes\n{figures}", [part for part in parts if len(part[1])]),
        ],
        most=MOST_POINTS,
    )


def _confidence(found: dict[str, Any]) -> str:
    rows = [
        ("mean confidence", f"{100 * found['probability']:.1f} %"),
        ("points right", f"{100 * found['accuracy']:.1f} %"),
        ("calibration error", f"{100 * found['error']:.1f} points of a hundred"),
        ("log loss", f"{found['log_loss']:.3f}"),
    ]
    return table(("confidence", "value"), rows)
