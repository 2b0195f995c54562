"""What pages show of a classifier's answers: classes, confusion, confused pairs, mistakes and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..data.axes import turn
from ..inference.review import Confusion, Mistake, Review
from .calibration import diagram
from .clouds import Turnable, drawing, side_by_side
from .page import COLOURS, as_html, graph_objects, table

MOST_PAIRS = 3  # of turnable clouds: a browser draws few of them at a time
NUMBERS_UP_TO = 60  # classes whose numbers fit into the confusion matrix


def sections(review: Review, whose: str = "", script: bool = False) -> list[str]:
    """The parts of a page about the answers of one network. `script` embeds plotly's script into the first figure."""
    wrong, count = review.mistakes()
    matrix, classes = review.confusion.tolist(), review.pack.classes
    pairs = review.confused(MOST_PAIRS)
    up = review.view.up or "z"
    deciding = any(one.shares is not None for one in wrong)
    legend = " Orange: the points that gave half of the pooled feature." if deciding else ""
    return [
        f"<h2>Confusion matrix{whose}</h2>",
        '<p class="note">Each row is a true class and adds up to 100 %; the diagonal shows correct answers. The '
        "numbers are shapes.</p>",
        as_html(confusion(matrix, classes), script, least_width=200 + 26 * len(classes)),
        f"<h2>Classes{whose}</h2>",
        class_table(matrix, classes),
        *_pairs(pairs, up, whose),
        f"<h2>Mistakes{whose}</h2>",
        f"<p>{count} of {len(review.pack)} test shapes, highest probability first.{legend}</p>",
        f'<div class="parts">{"".join(figure(one, up) for one in wrong)}</div>',
    ]


def calibration_section(review: Review, whose: str = "") -> list[str]:
    """The part of a page about the calibration of one pass."""
    return [
        f"<h2>Calibration{whose}</h2>",
        '<p class="note">Right as often as it says: dots on the diagonal. Below it, the network is overconfident.</p>',
        as_html(diagram(review.calibration()["ways"])),
    ]


def class_table(matrix: Sequence[Sequence[int]], classes: Sequence[str]) -> str:
    """One row per class: its shapes, how many of them are right, and how many answers of this class are."""
    counts = np.array(matrix)
    rows = []
    for number, name in enumerate(classes):
        right, shapes, answers = counts[number, number], counts[number].sum(), counts[:, number].sum()
        recall = f"{100 * right / shapes:.1f} %" if shapes else "-"
        precision = f"{100 * right / answers:.1f} %" if answers else "-"
        rows.append((name, f"{shapes}", recall, precision))
    return table(("class", "test shapes", "recognised", "right when answered"), rows)


def confusion(matrix: Sequence[Sequence[int]], classes: Sequence[str], what: str = "shapes") -> Any:
    """Plot a confusion matrix: shares of each true class as colours, the counts of `what` as numbers."""
    counts = np.array(matrix)
    shares = counts / counts.sum(1, keepdims=True).clip(1)
    numbers = np.where(counts > 0, np.vectorize("{:,}".format)(counts), "") if len(classes) <= NUMBERS_UP_TO else None
    page = graph_objects().Figure()
    page.add_heatmap(
        z=shares,
        x=list(classes),
        y=list(classes),
        customdata=counts,
        text=numbers,
        texttemplate=None if numbers is None else "%{text}",
        textfont={"size": 11},
        colorscale="Blues",
        zmin=0,
        zmax=1,
        colorbar={"tickformat": ".0%", "thickness": 12},
        hovertemplate=f"%{{y}} classified as %{{x}}: %{{customdata:,}} {what}, %{{z:.0%}}<extra></extra>",
    )
    page.update_layout(height=260 + 22 * len(classes), template="plotly_white", margin={"t": 20, "r": 20})
    page.update_xaxes(title="answer", tickangle=45, dtick=1)
    page.update_yaxes(title="truth", autorange="reversed", dtick=1)
    return page


def _pairs(pairs: Sequence[Confusion], up: str, whose: str) -> list[str]:
    if not pairs:
        return []
    body = [
        f"<h2>Most confused{whose}</h2>",
        "<p>Left a shape that was taken for the other class, right one of it.</p>",
    ]
    for one in pairs:
        times = f"{one.times} {'time' if one.times == 1 else 'times'}"
        clouds = [
            Turnable(f"{one.truth}\ntaken for {one.answer} ({times})", [("", turn(one.mistaken, up), COLOURS[1])]),
            Turnable(one.answer, [("", turn(one.other, up), COLOURS[0])]),
        ]
        body.append(as_html(side_by_side(clouds)))
    return body


def figure(mistake: Mistake, up: str = "z") -> str:
    """A picture of a misclassified shape, with its true class, the answer, and the points that decided it."""
    caption = (
        f"<b>{escape(mistake.truth)}</b> classified as <b>{escape(mistake.answer)}</b> "
        f"({100 * mistake.probability:.0f} %)<br><span class='note'>{escape(mistake.name)}</span>"
    )
    normals = None if mistake.normals is None else turn(mistake.normals, up)
    picture = drawing(turn(mistake.points, up), normals, mistake.shares)
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"
