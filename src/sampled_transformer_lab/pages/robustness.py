"""What the shipped weights withstand: accuracy against the severity of each corruption."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .markdown import commands, table

INTRODUCTION = (
    "Test shapes are corrupted and then treated as `predict` treats a file: as many points as the network reads, "
    "normalised. Of a file with fewer points it reads random ones again. "
    "[How much a network withstands](../guide/train.md#how-much-a-network-withstands) says what each corruption does."
)


def robustness_section(folder: Path) -> list[str]:
    """Everything under results/robustness."""
    lines = [INTRODUCTION, ""]
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text("utf-8"))
        normals = " with normals" if result["normals"] else ""
        measured = f"{result['shapes']} test shapes of {result['data']}, {result['points']} points{normals}"
        lines += [
            f"## {path.stem}",
            "",
            f"{measured}: {_percent(result['clean'])} % of the clean shapes are right.",
            "",
        ]
        for curve in result["corruptions"].values():
            lines += [*_curve(curve), ""]
            lines += [f"{one['severity']:,} was left out: {one['reason']}.\n" for one in curve.get("left_out", [])]
        lines += ["Measured with:", "", *commands(result["command"]), ""]
    return lines


def _curve(curve: dict[str, Any]) -> list[str]:
    rows = curve["levels"]
    severities = [f"{row['severity']:,}" if isinstance(row["severity"], int) else str(row["severity"]) for row in rows]
    return table([f"{curve['title']}: {curve['unit']}", *severities], [["accuracy %", *map(_percent, rows)]])


def _percent(row: dict[str, Any]) -> str:
    return f"{100 * row['accuracy']:.1f}"
