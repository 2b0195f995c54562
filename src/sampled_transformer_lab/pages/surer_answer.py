"""The page about how honest the probabilities of `predict` are, from results/predict/surer.json."""

from __future__ import annotations

from typing import Any

from .markdown import table
from .strange_files import kind_of_files

DEFAULT = "both, the default"


def surer_section(result: dict[str, Any]) -> list[str]:
    """One table: a row per corruption, the calibration error of every way to ask in columns."""
    rows, fitted = result["rows"], result["fitted"]
    ways = [name for name in rows[0] if name not in ("corruption", "severity", "shapes")]
    body = [
        [
            kind_of_files(row),
            f"{row['shapes']:,}",
            *(f"{100 * row[way]['error']:.1f}" for way in ways),
            f"{100 * row[DEFAULT]['chance']:.1f}",
            f"{100 * row[DEFAULT]['accuracy']:.1f}",
            f"{100 * row[DEFAULT]['probability']:.1f}",
        ]
        for row in rows
    ]
    named = [f"`{way}`" if not way.startswith("both") else way for way in ways]
    heads = ["files", "shapes", *named, "by chance", "right %, default", "mean probability %, default"]
    return [
        "`predict` asks two networks by default and takes the surer answer. Each of both is calibrated, but the larger "
        "of two probabilities is too large on average. So the probabilities p of the answer that was taken become "
        f"p^(1/T) / sum p^(1/T) with T = {fitted['temperature']:.3f}, fitted on the {fitted['shapes']} training shapes "
        "of ModelNet40 that both networks held out. About files of few points one network answers alone, and has a "
        f"temperature of its own, {fitted['of_few']:.3f}. No answer changes by this.",
        "",
        "Calibration errors in points, of test shapes of ModelNet40 as files. Probabilities that are all true have the "
        "error of the column `by chance` on so many shapes:",
        "",
        *table(heads, body),
        "",
        "The temperatures were fitted on clean shapes alone.",
        "",
        "## Few points",
        "",
        f"The {fitted['shapes']} held-out training shapes, reduced to so many points, and read by "
        "`modelnet40-robust`: as they are (filled up to 256 if there are fewer), or filled up with copies to the 1,024 "
        "points that it usually reads.",
        "",
        *table(
            ["points", "as they are: right %", "filled up: right %"],
            [
                [f"{row['points']}", *(f"{100 * row[way]:.1f}" for way in ("as they are", "filled up"))]
                for row in fitted["sparse"]
            ],
        ),
        "",
        "## How it was made",
        "",
        "```bash",
        result["command"],
        "```",
    ]
