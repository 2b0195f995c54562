"""The page that sets our classifier beside others, from results/peers/contest.json."""

from __future__ import annotations

from typing import Any

from .markdown import listed, table

HEADS = ["network", "accuracy %", "epochs", "parameters", "ms for one", "peak memory, GB"]


def peers_section(result: dict[str, Any]) -> list[str]:
    """One table for each wall time, and who leads it."""
    recipe, rows = result["recipe"], result["rows"]
    precision = "bfloat16, mixed" if recipe["half"] else "float32"
    lines = [
        f"All networks train on ModelNet40 ({recipe['points']:,} points, positions alone) for the same wall time on "
        f"{result['threads']} core{'s' * (result['threads'] > 1)} in {precision}, and are then tested once on the "
        f"whole test split. The recipe is the same: AdamW, batches of {recipe['batch']}, label smoothing "
        f"{recipe['label_smoothing']:g}, fresh points in every epoch, a rate that rises for a tenth of the wall "
        "time and falls along a cosine. The highest rate is that of each paper, 1e-3, and 2e-3 for ours. The others "
        "are implemented in plain torch as published, without extensions to compile; with those they would be faster.",
    ]
    for minutes in sorted({row["minutes"] for row in rows}):
        these = sorted((row for row in rows if row["minutes"] == minutes), key=lambda row: -row["accuracy"])
        body = [
            [
                row["network"],
                f"{100 * row['accuracy']:.2f}",
                f"{row['epochs']:.1f}",
                f"{row['parameters'] / 1e6:.2f} M",
                f"{1000 * row['seconds_for_one']:.1f}",
                f"{row['peak_memory'] / 1e9:.2f}",
            ]
            for row in these
        ]
        lines += ["", f"## After {minutes:g} minutes", "", leader(these), "", *table(HEADS, body)]
    names = listed([f"`{row['network']}`" for row in rows if row["minutes"] == rows[0]["minutes"]])
    lines += [
        "",
        "## How it was made",
        "",
        f"Networks: {names}. Rows took turns, at most two at once, each with its own core.",
        "",
        "```bash",
        "python benchmarks/peers.py ROOT"
        + (" --half" if recipe["half"] else "")
        + " --json results/peers/contest.json",
        "```",
    ]
    return lines


def leader(rows: list[dict[str, Any]], figure: str = "accuracy") -> str:
    """Who leads, and by how much; the first row is the best."""
    first, second = rows[:2]
    lead = 100 * (first[figure] - second[figure])
    return f"{first['network']} leads by {lead:.2f} points before {second['network']} (one seed each)."
