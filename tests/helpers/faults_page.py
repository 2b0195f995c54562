"""The table of docs/reliability.md, from the figures of `make test-faults`."""

from __future__ import annotations

from typing import Any

BEGIN, END = "<!-- faults: written by `make test-faults` -->\n", "<!-- end of faults -->"


def table(figures: dict[str, Any]) -> str:
    """One row per kind of run, and a line on where it was measured."""
    head = [
        "run",
        "kills at random moments",
        "kills inside writes",
        "stopped by signals",
        "full disks",
        "writers refused",
    ]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for kind, kills in figures["kills"].items():
        moments, writes = kills["at_random_moments"], kills["inside_writes"]
        cells = [f"`{kind}`", moments["kills"], writes["kills"], figures["signals"][kind]]
        cells += [figures["full_disks"][kind], figures["locks"][kind]["refusals"]]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    both = [kills[name] for kills in figures["kills"].values() for name in ("at_random_moments", "inside_writes")]
    total, runs = sum(one["kills"] for one in both), sum(one["runs"] for one in both)
    where = f"{figures['seconds']} s, torch {figures['versions']['torch']}"
    return "\n".join(
        [*lines, "", f"{total} kills in {runs} runs, which all ended as the run that was left alone ({where}).", ""]
    )


def joined(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The figures of a run of all kinds, with those of a later run of some of them, such as `-k segment`."""
    parts = ("kills", "signals", "full_disks", "locks")
    later = [*before.get("later", []), {name: now[name] for name in ("seed", "seconds", "machine", "versions")}]
    later[-1]["kinds"] = list(now["kills"])
    kinds = {name: {**before[name], **now[name]} for name in parts}
    return {**before, **kinds, "seconds": before["seconds"] + now["seconds"], "later": later}


def with_table(page: str, figures: dict[str, Any]) -> str:
    """The page with the table in its place."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + table(figures) + END + rest.split(END)[1]
