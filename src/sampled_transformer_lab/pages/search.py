"""Tables of a search: figures on a held-out part of the training split, never on the test split."""

from __future__ import annotations

from statistics import mean

from ..study import Study
from .markdown import table
from .measured import HEADLINE, Measured, spread


def search_section(study: Study, rows: list[Measured]) -> list[str]:
    body = []
    for row in rows:
        losses = [run["figures"][HEADLINE]["train_loss"] for run in row.runs]
        accuracy = spread(row.figures("validation_accuracy"))
        body.append([row.label, str(len(row.runs)), accuracy, f"{mean(losses):.3f}", f"{row.seconds():.0f}"])
    return table(["variant", "seeds", "accuracy on held-out shapes %", "training loss", "s per run"], body)
