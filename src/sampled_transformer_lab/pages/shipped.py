"""The page of the weights that come with the package: what they reach, and how they were made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..strangers import WITHOUT_NORMALS
from .markdown import commands, table


def shipped_section(folder: Path) -> list[str]:
    """Everything under results/weights."""
    lines: list[str] = []
    for path in sorted(folder.glob("*.json")):
        entry = json.loads(path.read_text("utf-8"))
        kind = ious if "mean_iou" in entry else likelihoods if "sets" in entry else accuracies
        *rows, measured_on = kind(entry)
        lines += [f"## {path.stem}", "", entry["description"], "", *rows, f"{measured_on} Made and measured with:", ""]
        lines += [*commands(*entry["commands"]), ""]
        lines += [f"Training took {entry['seconds']:.0f} s of wall time on {entry['machine']}.", ""]
    return lines


def ious(entry: dict[str, Any]) -> list[str]:
    """What a network that labels points reaches, with and without what it can do without."""
    ways = [("with normals", entry), *((f"without {name}", found) for name, found in entry["without"].items())]
    rows = [[way, f"{100 * found['mean_iou']:.2f}", f"{100 * found['accuracy']:.2f}"] for way, found in ways]
    classes = [[one["class"], f"{100 * one['iou']:.1f}", f"{one['points']:,}"] for one in entry["classes"]]
    return [
        *table(["way to ask", "mean IoU %", "points right %"], rows),
        "",
        *table(["class", "IoU %", "points"], classes),
        "",
        *([f"The bar was {100 * entry['bar']:.0f} %: {entry['verdict']}", ""] if "bar" in entry else []),
        f"{entry['parts']} test parts, {entry['points']} points each.",
    ]


def accuracies(entry: dict[str, Any]) -> list[str]:
    rows = [
        [way, f"{100 * row['accuracy']:.2f}", f"{100 * row['mean_class_accuracy']:.2f}"]
        for way, row in entry["figures"].items()
    ]
    measured_on = f"{entry['shapes']} test shapes, {entry['points']} points."
    return [*table(["way to ask", "accuracy %", "mean over classes %"], rows), "", *honesty(entry), measured_on]


def honesty(entry: dict[str, Any]) -> list[str]:
    """Calibration, false alarms and strangers, if they were measured."""
    if "strangers" not in entry:
        return []
    found, alarms = entry["calibration"], entry["familiarity"]
    errors = [
        [way, *(f"{100 * found[key][way]:.1f}" for key in ("before", "after", "chance"))] for way in found["after"]
    ]
    rows = [[kind, f"{100 * row['unfamiliar']:.0f}", f"{row['area']:.3f}"] for kind, row in entry["strangers"].items()]
    sets = next(iter(entry["strangers"].values()))["sets"]
    estimated = ", whose normals are estimated" if WITHOUT_NORMALS in entry["strangers"] else ""
    return [
        f"Calibration error in points, with the temperature {found['temperature']:.3f} that was fitted on held-out "
        "training shapes. A network whose probabilities are all true has the error of the last column on so many "
        "shapes:",
        "",
        *table(["way to ask", "without temperature", "with it", "by chance"], errors),
        "",
        f"{100 * alarms['unfamiliar']:.1f} % of the test shapes are called unfamiliar, false alarms; the threshold is "
        f"that of {100 * alarms['alarms']:g} % of the held-out training shapes. Of {sets} strangers per "
        f"kind{estimated}:",
        "",
        *table(["strangers", "called unfamiliar %", "area under the ROC curve"], rows),
        "",
    ]


def likelihoods(entry: dict[str, Any]) -> list[str]:
    rows = [
        [way, *(f"{row[key]:.4f}" for key in ("LL0", "LL1", "oracle_LL0", "oracle_LL1"))]
        for way, row in entry["figures"].items()
    ]
    columns = ["way to ask", "LL0", "LL1", "true mixtures: LL0", "LL1"]
    return [*table(columns, rows), "", f"{entry['sets']} fixed sets of mixtures."]
