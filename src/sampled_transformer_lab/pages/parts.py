"""The page that sets our segmenter beside PointNet++, from results/peers/parts.json."""

from __future__ import annotations

from typing import Any

from .markdown import table
from .peers import clock_option, clock_words, leader

HEADS = ["network", "mean IoU %", "points right %", "epochs", "parameters", "processor, min", "peak memory, GB"]


def parts_section(result: dict[str, Any]) -> list[str]:
    """One table for each time with the IoU of each class, and who leads it."""
    recipe, rows = result["recipe"], result["rows"]
    precision = "bfloat16, mixed" if recipe["half"] else "float32"
    cores = f"{result['threads']} core{'s' * (result['threads'] > 1)}"
    at_once = " All of a table train at the same time." if result["together"] else ""
    lines = [
        f"All networks train on brick-parts ({recipe['points']:,} points with normals, "
        f"{rows[0]['training_parts']:,} parts) for the same {clock_words(result)}, each on {cores} in {precision}, and "
        f"are then tested once on the {rows[0]['test_parts']:,} test parts.{at_once} The recipe is the same: AdamW, "
        f"batches of {recipe['batch']}, cross-entropy with weights of classes that fade, Lovász loss, fresh points in "
        "every epoch, a rate that rises for a tenth of the time and falls along a cosine. The highest rate is 1e-3 for "
        "PointNet++, as published, and 2e-3 for ours. PointNet++ is implemented in plain torch as published, without "
        "extensions to compile; with those it would be faster. The column of the processor shows whether all got the "
        "same share of the machine.",
    ]
    for minutes in sorted({row["minutes"] for row in rows}):
        these = sorted((row for row in rows if row["minutes"] == minutes), key=lambda row: -row["mean_iou"])
        lines += ["", f"## After {minutes:g} minutes", ""]
        if len(these) > 1:
            lines += [leader(these, "mean_iou"), ""]
        lines += [*table(HEADS, [cells(row) for row in these]), "", "IoU of each class, %:", ""]
        names = list(these[0]["classes"])
        body = [[row["network"], *(f"{100 * row['classes'][name]:.1f}" for name in names)] for row in these]
        lines += table(["network", *names], body)
    words = [
        *clock_option(result),
        *(["--half"] if recipe["half"] else []),
        *(["--together"] if result["together"] else []),
    ]
    minutes = " ".join(f"{one:g}" for one in sorted({row["minutes"] for row in rows}))
    command = " ".join(["python benchmarks/parts.py ROOT", *words, f"--minutes {minutes}"])
    return [*lines, "", "## How it was made", "", "```bash", f"{command} --json results/peers/parts.json", "```"]


def cells(row: dict[str, Any]) -> list[str]:
    return [
        row["network"],
        f"{100 * row['mean_iou']:.2f}",
        f"{100 * row['accuracy']:.2f}",
        f"{row['epochs']:.1f}",
        f"{row['parameters'] / 1e6:.2f} M",
        f"{row['processor_seconds'] / 60:.1f}",
        f"{row['peak_memory'] / 1e9:.2f}",
    ]
