"""The page on the shapes that two networks get right: what two rows share of a test split's noise."""

from __future__ import annotations

import json
from pathlib import Path

from .markdown import commands, table
from .verdict import UNSHARED


def agreement_section(folder: Path) -> list[str]:
    """Everything under results/agreement."""
    kept = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    most = max(value for found in kept for value in found["unshared"].values())
    lines = [
        "Two networks that answer the same test shapes mostly fail on the same ones, so a difference between them "
        "depends less on the choice of the shapes than each accuracy does. Give each network a 1 per shape that it "
        "gets right, else a 0. The table has the correlation between these lists: for two seeds of one mechanism "
        '("same"), and for two mechanisms ("across").',
        "",
        "If p(s) and q(s) are the chances, over seeds, that two mechanisms with the accuracies a and b are right about "
        "shape s, then the variance of p(s) - q(s) over shapes is (same - across) (a (1 - a) + b (1 - b)). What chance "
        "does within one mechanism is in the deviation between seeds already. The [verdicts](index.md#verdicts) take "
        f"{UNSHARED:g} for same - across, for every pair; the largest here is {most:.3f}.",
    ]
    for found in kept:
        body = []
        for pair, across in found["across"].items():
            same = [found["same"][name] for name in pair.split(" and ")]
            cells = [" and ".join(f"{value:.3f}" for value in same), f"{across:.3f}", f"{found['unshared'][pair]:.3f}"]
            body.append([pair, *cells])
        counts = sorted(set(found["seeds"].values()))
        title = f"## {found['data']}, {len(found['seeds'])} mechanisms"
        lines += ["", title, "", *table(["mechanisms", "same", "across", "same - across"], body), ""]
        lines += [
            f"{found['shapes']:,} test shapes, {found['points']} points, {found['epochs']} epochs, "
            f"{' or '.join(map(str, counts))} seeds per mechanism.",
            "",
            *commands(found["command"]),
        ]
    return lines
