"""Tables of a search: figures on a part of the training split that was held out, never on the test split."""

from __future__ import annotations

from statistics import mean

from ..studies import Study
from .measured import HEADLINE, Measured, spread


def search_section(study: Study, rows: list[Measured]) -> list[str]:
    lines = [
        "| variant | seeds | accuracy on held-out shapes % | training loss | s a run |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        losses = [run["figures"][HEADLINE]["train_loss"] for run in row.runs]
        cells = [
            row.label,
            str(len(row.runs)),
            spread(row.figures("validation_accuracy")),
            f"{mean(losses):.3f}",
            f"{row.seconds():.0f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines
