"""The page of one `cluster evaluate`: likelihoods beside those of the true mixtures, and sets of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..clustering.evaluation import truth
from ..clustering.fit import Clusters
from ..clustering.likelihood import assign, log_likelihood
from ..data.sources.gaussians import Mixtures
from ..models.mixture import Mixture
from ..support.atomic import atomic_write
from ..support.printable import printable
from .cluster_page import drawn_figure, likelihood_table
from .facts import facts
from .page import COLOURS, as_html, document, graph_objects, table

SHOWN = 4  # sets of a kind
Pairs = Sequence[tuple[Mixtures, Mixture]]


def write_page(path: Path, result: dict[str, Any], pairs: Pairs) -> None:
    """Write the page for a result of `evaluate`, and its batches of sets with the mixtures that were found."""
    page = evaluation_page(result, pairs)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))


def evaluation_page(result: dict[str, Any], pairs: Pairs) -> str:
    """The page as HTML."""
    name = printable(Path(result["weights"]).name)
    title = f"{name} on {result['sets']:,} sets"
    below = behind(pairs)
    order = below.argsort(descending=True, stable=True).tolist()
    middle = max(0, len(order) // 2 - SHOWN // 2)
    data = [
        (key, ", ".join(map(str, value)) if isinstance(value, list) else str(value)) for key, value in _data(result)
    ]
    body = [
        f"<h1>{escape(title)}</h1>",
        likelihood_table({name: result["figures"]}),
        "<h2>Sets</h2>",
        '<p class="note">How far the log-likelihood per point (LL0) is below that of the true mixture. At 0 they are '
        "equal; a set may lie left of it, because the true mixture is not the likeliest one.</p>",
        as_html(histogram(below), script=True),
        "<h2>Furthest below the true mixture</h2>",
        _pictures(pairs, below, order[:SHOWN]),
        "<h2>In the middle</h2>",
        _pictures(pairs, below, order[middle : middle + SHOWN]),
        "<h2>Sets that were drawn</h2>",
        table(("option", "value"), [*data, ("covariance of the EM step", result["covariance"])]),
        *facts({title: result}, {}),
    ]
    return document(title, body)


def _data(result: dict[str, Any]) -> list[tuple[str, Any]]:
    return list(result["data"].items())


def behind(pairs: Pairs) -> Tensor:
    """LL0 of the true mixture minus that of the network, per set, (sets,)."""
    parts = [log_likelihood(batch.points, truth(batch)) - log_likelihood(batch.points, found) for batch, found in pairs]
    return torch.cat(parts)


def histogram(below: Tensor) -> Any:
    """How many sets are how far below."""
    page = graph_objects().Figure()
    page.add_histogram(x=below.tolist(), marker={"color": COLOURS[0]}, name="sets", nbinsx=40)
    page.add_vline(x=float(below.mean()), line={"color": COLOURS[1], "dash": "dot"}, annotation_text="mean")
    page.update_layout(height=320, template="plotly_white", margin={"t": 30}, bargap=0.05)
    page.update_xaxes(title="log-likelihood per point below the true mixture")
    page.update_yaxes(title="sets")
    return page


def _pictures(pairs: Pairs, below: Tensor, numbers: Sequence[int]) -> str:
    figures = []
    for number in numbers:
        found = clusters_of(pairs, number)
        far, where = abs(float(below[number])), "below" if below[number] >= 0 else "above"
        said = f"set {number + 1}: {len(found.points)} points, {far:.3f} {where} the true mixture"
        figures.append(drawn_figure(found, said))
    return f'<div class="parts large">{"".join(figures)}</div>'


def clusters_of(pairs: Pairs, number: int) -> Clusters:
    """The mixture that was found for one set, to be drawn."""
    for batch, found in pairs:
        if number < len(batch.points):
            one = found.select(slice(number, number + 1))
            points = batch.points[number : number + 1]
            return Clusters(
                f"set {number + 1}",
                points[0].double().numpy(),
                one.log_weights[0].exp().double().numpy(),
                one.means[0].double().numpy(),
                one.deviations[0].double().numpy(),
                assign(points, one)[0].numpy(),
                float(log_likelihood(points, one)[0]),
            )
        number -= len(batch.points)
    raise IndexError(number)
