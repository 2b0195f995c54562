"""The page that sets our classifier beside others, from results/peers/contest.json."""

from __future__ import annotations

from typing import Any

from .markdown import listed, table

HEADS = ["network", "accuracy %", "epochs", "parameters", "ms for one", "peak memory, GB"]


def peers_section(result: dict[str, Any]) -> list[str]:
    """One table for each time, and who leads it."""
    recipe, rows = result["recipe"], result["rows"]
    precision = "bfloat16, mixed" if recipe["half"] else "float32"
    lines = [
        f"All networks train on ModelNet40 ({recipe['points']:,} points, positions alone) for the same "
        f"{clock_words(result)} on {result['threads']} core{'s' * (result['threads'] > 1)} in {precision}, and are "
        f"then tested once on the whole test split. The recipe is the same: AdamW, batches of {recipe['batch']}, label "
        f"smoothing {recipe['label_smoothing']:g}, fresh points in every epoch, a rate that rises for a tenth of the "
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
    minutes = " ".join(f"{one:g}" for one in sorted({row["minutes"] for row in rows}))
    names = listed([f"`{row['network']}`" for row in rows if row["minutes"] == rows[0]["minutes"]])
    lines += [
        "",
        "## How it was made",
        "",
        f"Networks: {names}. At most two trained at the same time; other work ran as well.",
        *(["", result["note"]] if "note" in result else []),
        "",
        "```bash",
        " ".join(
            [
                "python benchmarks/peers.py ROOT",
                *clock_option(result),
                *(["--half"] if recipe["half"] else []),
                f"--minutes {minutes}",
                "--json results/peers/contest.json",
            ]
        ),
        "```",
    ]
    return lines


def clock_words(result: dict[str, Any]) -> str:
    """What the minutes are of; a file without `clock` is of wall time."""
    if result.get("clock", "wall") == "wall":
        return "wall time"
    return "processor time (what other programs on the machine took does not count)"


def clock_option(result: dict[str, Any]) -> list[str]:
    return [] if result.get("clock", "wall") == "wall" else [f"--clock {result['clock']}"]


def leader(rows: list[dict[str, Any]], figure: str = "accuracy") -> str:
    """Who leads, and by how much; the first row is the best."""
    first, second = rows[:2]
    lead = 100 * (first[figure] - second[figure])
    return f"{first['network']} is {lead:.2f} points ahead of {second['network']} (one seed each)."
