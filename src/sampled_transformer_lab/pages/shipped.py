"""The page of the weights that come with the package: what they reach, and how they were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .markdown import commands, table


def shipped_section(folder: Path) -> list[str]:
    """Everything under results/weights."""
    lines: list[str] = []
    for path in sorted(folder.glob("*.json")):
        entry = json.loads(path.read_text("utf-8"))
        *rows, measured_on = (likelihoods if "sets" in entry else accuracies)(entry)
        lines += [f"## {path.stem}", "", entry["description"], "", *rows, f"{measured_on} Made and measured with:", ""]
        lines += [*commands(*entry["commands"]), ""]
        lines += [f"Training took {entry['seconds']:.0f} s of wall time on {entry['machine']}.", ""]
    return lines


def accuracies(entry: dict[str, Any]) -> list[str]:
    rows = [
        [way, f"{100 * row['accuracy']:.2f}", f"{100 * row['mean_class_accuracy']:.2f}"]
        for way, row in entry["figures"].items()
    ]
    measured_on = f"{entry['shapes']} test shapes, {entry['points']} points."
    return [*table(["way to ask", "accuracy %", "mean over classes %"], rows), "", measured_on]


def likelihoods(entry: dict[str, Any]) -> list[str]:
    rows = [
        [way, *(f"{row[key]:.4f}" for key in ("LL0", "LL1", "oracle_LL0", "oracle_LL1"))]
        for way, row in entry["figures"].items()
    ]
    columns = ["way to ask", "LL0", "LL1", "true mixtures: LL0", "LL1"]
    return [*table(columns, rows), "", f"{entry['sets']} fixed sets of mixtures."]
