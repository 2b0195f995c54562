"""The page of one `cluster fit`: the points in the colours of their clusters, and what the clusters are."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..clustering.fit import COLOURS, MOST_DRAWN, Clusters
from ..support.atomic import atomic_write
from ..support.printable import printable
from .clouds import Turnable, side_by_side
from .facts import facts
from .page import as_html, document, graph_objects, table


def write_page(path: Path, found: Clusters, made: dict[str, Any]) -> None:
    """Write the page about the clusters of a file; `made` is as in `made_now`."""
    page = fit_page(found, made)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def fit_page(found: Clusters, made: dict[str, Any]) -> str:
    """The page as HTML."""
    title = f"Clusters of {printable(Path(found.file).name)}"
    names = [printable(name) for name in found.names]
    counts = np.bincount(found.assignments, minlength=len(found.weights))
    rows = [
        (f"cluster {own}", f"{weight:.3f}", f"{counts[own]:,}", *(f"{value:.4g}" for value in [*mean, *deviation]))
        for own, (weight, mean, deviation) in enumerate(zip(found.weights, found.means, found.deviations, strict=True))
    ]
    head = ("", "weight", "points", *(f"mean {name}" for name in names), *(f"deviation {name}" for name in names))
    some = f" {MOST_DRAWN:,} of them are drawn." if len(found.points) > MOST_DRAWN else ""
    flat = found.points.shape[1] < 3
    how = "Ellipses of two deviations." if flat else f"The first three coordinates: {escape(', '.join(names[:3]))}."
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{len(found.points):,} points, log-likelihood {found.log_likelihood:.4f} per point.{some}</p>",
        "<h2>Points</h2>",
        f'<p class="note">The colour of a point is its likeliest cluster. {how}</p>',
        as_html(plane(found) if flat else space(found), script=True),
        "<h2>Clusters</h2>",
        table(head, rows),
        *facts({title: made}, {}),
    ]
    return document(title, body)


def _drawn(found: Clusters) -> np.ndarray:
    count = len(found.points)
    rows: np.ndarray = np.linspace(0, count - 1, min(count, MOST_DRAWN)).round().astype(int)
    return rows


def plane(found: Clusters) -> Any:
    """One or two coordinates, with an ellipse of two deviations per cluster."""
    page, rows = graph_objects().Figure(), _drawn(found)
    points, means, deviations = (
        np.pad(part, ((0, 0), (0, 2 - part.shape[1]))) for part in (found.points[rows], found.means, found.deviations)
    )
    angle = np.linspace(0, 2 * np.pi, 73)
    for own in range(len(found.weights)):
        colour, mine = COLOURS[own % len(COLOURS)], points[found.assignments[rows] == own]
        line = means[own] + 2 * deviations[own] * np.stack([np.cos(angle), np.sin(angle)], 1)
        group = {"legendgroup": str(own), "name": f"cluster {own}"}
        page.add_scattergl(
            x=mine[:, 0], y=mine[:, 1], mode="markers", marker={"color": colour, "size": 5, "opacity": 0.7}, **group
        )
        page.add_scatter(
            x=line[:, 0],
            y=line[:, 1],
            mode="lines",
            line={"color": colour},
            showlegend=False,
            hoverinfo="skip",
            **group,
        )
    page.update_layout(height=560, template="plotly_white", margin={"t": 20, "r": 20}, showlegend=True)
    page.update_xaxes(title=found.names[0])
    page.update_yaxes(title=found.names[1] if len(found.names) > 1 else "", scaleanchor="x")
    return page


def space(found: Clusters) -> Any:
    """The first three coordinates, which can be turned."""
    rows = _drawn(found)
    own = found.assignments[rows]
    parts = [
        (f"cluster {number}", found.points[rows][own == number][:, :3], COLOURS[number % len(COLOURS)])
        for number in np.unique(own).tolist()
    ]
    return side_by_side([Turnable("", parts)], most=MOST_DRAWN)
