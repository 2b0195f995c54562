"""What report.html shows of `cluster train`: likelihoods, their curve, and mixtures that the network found."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import torch

from ..clustering.evaluation import load_mixture_network
from ..clustering.fit import Clusters, fit_points, picture
from ..data.sources.gaussians import sample_mixtures
from ..weights import FILE
from .page import COLOURS, as_html, graph_objects, table
from .run_page import read_metrics

SHOWN = 8  # mixtures


def sections(name: str, folder: Path) -> list[str]:
    """The parts of the page, without its title and how the run was made."""
    result = json.loads((folder / "result.json").read_text("utf-8"))
    figures = result["figures"]
    return [
        likelihood_table(name, figures),
        "<h2>Training</h2>",
        as_html(curve(read_metrics(folder / "metrics.csv"), figures["oracle_LL0"]), script=True),
        "<h2>Mixtures</h2>",
        "<p>Sets that the network has not seen. Ellipses of two deviations; the colour of a point is its cluster.</p>",
        f'<div class="parts">{"".join(_pictures(folder))}</div>',
    ]


def likelihood_table(name: str, figures: dict[str, float]) -> str:
    """Log-likelihoods of a network beside those of the true mixtures."""
    rows = [
        (label, f"{figures[key]:.4f}", f"{figures['oracle_' + key]:.4f}")
        for key, label in (("LL0", "LL0, as predicted"), ("LL1", "LL1, after one EM step"))
    ]
    return table(("log-likelihood per point", name, "true mixtures"), rows)


def curve(rows: list[dict[str, float]], oracle: float) -> Any:
    """The log-likelihood per point over the steps, on training sets and on watched ones."""
    page = graph_objects().Figure()
    for (key, label), colour in zip((("LL0", "watched sets"), ("train_LL0", "training")), COLOURS, strict=False):
        found = [(row["step"], row[key]) for row in rows if key in row]
        page.add_scatter(
            x=[step for step, _ in found],
            y=[value for _, value in found],
            name=label,
            mode="lines+markers",
            line={"color": colour},
        )
    page.add_hline(y=oracle, line={"color": "#999", "dash": "dot"}, annotation_text="true mixtures")
    page.update_layout(height=360, template="plotly_white", showlegend=True, margin={"t": 20})
    page.update_xaxes(title="step")
    page.update_yaxes(title="log-likelihood per point")
    return page


def _pictures(folder: Path) -> list[str]:
    network, _, options = load_mixture_network(folder / FILE, "cpu")
    generator = torch.Generator().manual_seed(0)
    pictures = []
    for number in range(SHOWN):
        drawn = sample_mixtures(
            1,
            options.points,
            generator,
            components=options.components,
            dim=options.dimension,
            spread=options.spread,
            deviation=options.deviation,
        )
        found = fit_points(network.eval(), options, drawn.points[0].double().numpy(), f"set {number + 1}")
        said = f"{len(found.points)} points, log-likelihood {found.log_likelihood:.3f}"
        pictures.append(drawn_figure(found, f"set {number + 1}: {said}"))
    return pictures


def drawn_figure(found: Clusters, caption: str) -> str:
    """A small picture of clusters with a caption."""
    svg = picture(found, 320).replace("<svg ", '<svg style="max-width:100%; height:auto" ')
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"
