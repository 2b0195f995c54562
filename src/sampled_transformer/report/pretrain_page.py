"""What report.html shows of a pre-training: loss, probe, and shapes that the network rebuilds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from pathlib import Path

import numpy as np

from ..data.axes import turn
from ..inference.reconstruction import reconstruct_points
from ..inference.trained import view_of
from ..models.mae import MaskedAutoencoder
from ..support.printable import printable
from ..training.loading import load_shapes
from ..weights import FILE, load_model
from .clouds import Turnable, side_by_side
from .page import COLOURS, as_html, table
from .run_page import curves, read_metrics

SHOWN = 2  # shapes


def sections(runs: Mapping[str, Path]) -> list[str]:
    """The parts of the page, without its title and how the runs were made; the reconstructions are of the first one."""
    results = {name: json.loads((folder / "result.json").read_text("utf-8")) for name, folder in runs.items()}
    metrics = {name: read_metrics(folder / "metrics.csv") for name, folder in runs.items()}
    probed = {name: [row for row in rows if "probe_accuracy" in row] for name, rows in metrics.items()}
    cells = []
    for name, result in results.items():
        last, probes = metrics[name][-1], probed[name]
        probe = f"{100 * probes[-1]['probe_accuracy']:.2f} %" if probes else "-"
        numbers = (f"{last['train_loss']:.5f}", probe, f"{last['epoch']:.0f}", f"{result['parameters']:,}")
        cells.append((name, printable(Path(result["data"]).name), *numbers))
    body = [
        table(("run", "data", "loss", "linear probe", "epochs", "parameters"), cells),
        "<h2>Pre-training</h2>",
        as_html(curves(metrics, "train_loss", "Chamfer loss of the masked groups"), script=True),
    ]
    if any(probed.values()):
        known = {name: rows for name, rows in probed.items() if rows}
        body.append(as_html(curves(known, "probe_accuracy", "linear probe on training shapes", percent=True)))
    name, folder = next(iter(runs.items()))
    return [*body, *_reconstructions(folder, results[name]["data"], f" ({escape(name)})" if len(runs) > 1 else "")]


def _reconstructions(folder: Path, source: str, whose: str) -> list[str]:
    """A few training shapes: what the network saw and rebuilt, beside the whole."""
    network, description = load_model(folder / FILE)
    assert isinstance(network, MaskedAutoencoder)
    view = view_of(description, folder)
    data = description.notes.get("data", {})
    try:
        pack = load_shapes(source, data.get("root"), "train", view.points)
    except (ValueError, OSError):  # the data is no longer there
        return []
    note = "<p>Shapes of the training split; the network sees the visible points.</p>"
    body = [f"<h2>Reconstructions{whose}</h2>", note]
    for number in np.linspace(0, len(pack) - 1, SHOWN).round().astype(int).tolist():
        points, _ = view.transforms()[1](pack.batch([number]).points)
        clouds = reconstruct_points(network.eval(), points[0])
        seen, built, whole = (turn(part, view.up or "z") for part in (clouds.visible, clouds.rebuilt, clouds.original))
        share = f"{clouds.masked} of {clouds.groups} groups rebuilt\nloss {clouds.loss:.5f}"
        both = [("visible", seen, COLOURS[0]), ("rebuilt", built, COLOURS[1])]
        body.append(as_html(side_by_side([Turnable(share, both), Turnable("whole", [("whole", whole, COLOURS[7])])])))
    return body
