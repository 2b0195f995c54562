"""The table of docs/reliability.md about mutated files, from the figures of `make fuzz`."""

from __future__ import annotations

from collections import Counter
from typing import Any

BEGIN, END = "<!-- fuzz: from results/faults/fuzz.json, written by `make fuzz` -->\n", "<!-- end of fuzz -->"
# Groups of kinds; all others are shapes, or scans by their names.
OTHERS = {"pack": "packs", "h5": "HDF5", "weights": "weights", "settings": "YAML"}
OTHERS |= dict.fromkeys(("fold", "dat"), "published pickles")
OTHERS |= dict.fromkeys(("table", "resampled", "names", "targets", "points"), "tables and lists")


def table(figures: dict[str, Any]) -> str:
    """One row per group of readers, and a line on the whole."""
    groups: dict[str, Counter[str]] = {}
    for kind, counts in figures["kinds"].items():
        group = OTHERS.get(kind, "scans" if kind.startswith("scan") else "shapes")
        groups.setdefault(group, Counter()).update(counts)
    columns = ("read", "refused", "stopped", "failed")
    lines = [
        "| files | in all | read | refused in one line | stopped by a limit or a death | neither |",
        "|---" * 6 + "|",
    ]
    for group, counts in groups.items():
        cells = [counts.total(), *(counts[name] for name in columns)]
        lines.append(f"| {group} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    limits = f"{figures['seconds_per_file']:g} s and {figures['bytes_per_file'] / 2**30:g} GiB per file"
    total = f"{figures['count']:,} mutated files of {len(figures['kinds'])} kinds in {figures['seconds']:.0f} s"
    return "\n".join([*lines, "", f"{total}, {limits}; {len(figures['findings'])} findings.", ""])


def with_fuzz(page: str, figures: dict[str, Any]) -> str:
    """The page with the table in its place."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table(figures) + END + rest.split(END)[1]
