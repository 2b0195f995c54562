"""The page about what `predict` answers about imperfect files, from results/predict/files.json."""

from __future__ import annotations

from typing import Any

from .markdown import table

TITLES = {
    "clean": "clean",
    "points": "points in the file",
    "noise": "noise, standard deviation",
    "outliers": "outliers, share",
    "half_space": "missing half-space, share",
    "crop": "hole, share",
}


def kind_of_files(row: dict[str, Any]) -> str:
    """The corruption of a row, and how severe it is."""
    return TITLES[row["corruption"]] + ("" if row["corruption"] == "clean" else f" {row['severity']:g}")


def files_section(result: dict[str, Any]) -> list[str]:
    """One table: a row per corruption and severity, a column per way to ask."""
    rows = result["rows"]
    ways = [name for name in rows[0] if name not in ("corruption", "severity")]
    body = [
        [
            kind_of_files(row),
            *(f"{100 * row[way]['accuracy']:.1f}" for way in ways),
            f"{100 * row['both']['unfamiliar']:.1f}",
        ]
        for row in rows
    ]
    named = [f"`{way}` %" if way != "both" else "both, the default %" for way in ways]
    heads = ["files", *named, "called unfamiliar %"]
    to_any = result.get("unfamiliar_to") == "any"
    told = "what either network" if to_any else "what `modelnet40-robust`"
    strange = _strangers(result["strangers"], ways) if "strangers" in result else []
    return [
        f"{result['shapes']} test shapes of ModelNet40 as files of points without normals, read by `predict`. By "
        "default it asks two networks and takes the surer answer; about files with less than three quarters of the "
        "points that a network reads, it asks `modelnet40-robust` alone, which "
        "reads them as they are. In the columns of one network, it "
        f"reads them filled up. The last column is that of the default: {told} calls unfamiliar. Which answer is taken "
        "was chosen on held-out training shapes, before this table "
        "was made.",
        "",
        *table(heads, body),
        "",
        *strange,
        "## How it was made",
        "",
        "```bash",
        result["command"],
        "```",
    ]


def _strangers(rows: list[dict[str, Any]], ways: list[str]) -> list[str]:
    """One table: a row per kind of stranger, a column per way to ask."""
    body = [[row["kind"], *(f"{100 * row[way]:.1f}" for way in ways)] for row in rows]
    named = [f"`{way}` %" if way != "both" else "both, the default %" for way in ways]
    return [
        "## Strangers",
        "",
        "How many files are called unfamiliar that are of no class that the networks know, or known shapes put out of "
        "shape. Of two networks, each may raise half of the false alarms.",
        "",
        *table(["files", *named], body),
        "",
    ]
