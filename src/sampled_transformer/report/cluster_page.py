"""What report.html shows of `cluster train`: likelihoods, their curve, and mixtures that the network found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


def sections(runs: Mapping[str, Path]) -> list[str]:
    """The parts of the page, without its title and how the runs were made; the mixtures are of the first one."""
    results = {name: json.loads((folder / "result.json").read_text("utf-8")) for name, folder in runs.items()}
    metrics = {name: read_metrics(folder / "metrics.csv") for name, folder in runs.items()}
    name, folder = next(iter(runs.items()))
    whose = f" ({escape(name)})" if len(runs) > 1 else ""
    return [
        likelihood_table({own: result["figures"] for own, result in results.items()}),
        "<h2>Training</h2>",
        as_html(curve(metrics, {own: one["figures"]["oracle_LL0"] for own, one in results.items()}), script=True),
        f"<h2>Mixtures{whose}</h2>",
        "<p>Sets that the network has not seen. Ellipses of two deviations; the colour of a point is its cluster.</p>",
        f'<div class="parts large">{"".join(_pictures(folder))}</div>',
    ]


def likelihood_table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """Log-likelihoods of networks beside those of the true mixtures, which networks on the same sets share."""
    oracles = {name: (own["oracle_LL0"], own["oracle_LL1"]) for name, own in figures.items()}
    shared = len(set(oracles.values())) == 1
    columns: list[tuple[str, Mapping[str, float], str]] = []
    for number, (name, own) in enumerate(figures.items()):
        columns.append((name, own, ""))
        if not shared or number == len(figures) - 1:
            columns.append(("true mixtures" if shared else f"true mixtures of {name}", own, "oracle_"))
    rows = [
        (label, *(f"{own[prefix + key]:.4f}" for _, own, prefix in columns))
        for key, label in (("LL0", "LL0, as predicted"), ("LL1", "LL1, after one EM step"))
    ]
    return table(("log-likelihood per point", *(title for title, _, _ in columns)), rows)


def curve(metrics: Mapping[str, Sequence[Mapping[str, float]]], oracles: Mapping[str, float]) -> Any:
    """The log-likelihood per point over the steps, on watched sets and, of a single run, on training sets."""
    page = graph_objects().Figure()
    keys = (("LL0", "watched sets"), ("train_LL0", "training")) if len(metrics) == 1 else (("LL0", ""),)
    lines = [(name, rows, key, label) for name, rows in metrics.items() for key, label in keys]
    for number, (name, rows, key, label) in enumerate(lines):
        found = [(row["step"], row[key]) for row in rows if key in row]
        page.add_scatter(
            x=[step for step, _ in found],
            y=[value for _, value in found],
            name=label or name,
            mode="lines+markers",
            line={"color": COLOURS[number % len(COLOURS)]},
        )
    for oracle in dict.fromkeys(oracles.values()):  # runs on the same sets share one
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
    return f"<figure>{picture(found, 320, bare=True)}<figcaption>{escape(caption)}</figcaption></figure>"
