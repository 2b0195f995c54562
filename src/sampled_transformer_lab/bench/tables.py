"""The tables of a benchmark, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

TITLES = {"forward": "forward", "both": "forward and backward"}


def tables(result: dict[str, Any]) -> Iterator[str]:
    """Every table of a benchmark: first times with their ratio to sampled attention, then memory."""
    exponent = {
        (entry["level"], entry["passes"], entry["mechanism"]): f"{entry['exponent']:.2f}"
        for entry in result["exponents"]
    }
    for level, passes in _distinct((entry["level"], entry["passes"]) for entry in result["times"]):
        entries = [entry for entry in result["times"] if (entry["level"], entry["passes"]) == (level, passes)]
        ours = {entry["points"]: entry.get("seconds") for entry in entries if entry["mechanism"] == "sampled"}

        def time(entry: dict[str, Any], ours: dict[int, float | None] = ours) -> str:
            base = ours.get(entry["points"])
            ratio = f" {entry['seconds'] / base:7.2f}x" if base else ""
            return f"{milliseconds(entry['seconds'])}{ratio}"

        last = {name: exponent.get((level, passes, name), "") for name in _distinct(e["mechanism"] for e in entries)}
        title = f"{level}, {TITLES[passes]}: milliseconds" + (", and the ratio to sampled attention" if ours else "")
        yield f"{title}\n{table(entries, 'seconds', time, last, 'exponent')}"
    for level in _distinct(entry["level"] for entry in result["memory"]):
        entries = [entry for entry in result["memory"] if entry["level"] == level]
        for key, title in (
            ("peak_bytes", "peak memory of a fresh process beyond what it held before, MB"),
            ("kept_bytes", "kept for the backward pass, MB"),
        ):
            yield f"{level}: {title}\n{table(entries, key, partial(megabytes, key=key))}"
    reasons = _distinct(
        (entry["mechanism"], entry["left_out"])
        for entry in [*result["times"], *result["memory"]]
        if entry.get("left_out", "is").startswith("failed")
    )
    for mechanism, reason in reasons:
        yield f"{mechanism} {reason}"


def table(
    entries: Sequence[dict[str, Any]],
    key: str,
    show: Callable[[dict[str, Any]], str],
    last: dict[str, str] | None = None,
    last_title: str = "",
) -> str:
    """One row per mechanism and one column per size. "-" marks what was left out; the JSON file says why."""
    points = sorted({entry["points"] for entry in entries})
    cells = {
        (entry["mechanism"], entry["points"]): show(entry) if entry.get(key) is not None else "-" for entry in entries
    }
    lines = [["", *(f"{n:,}" for n in points), *([last_title] if last else [])]]
    for name in _distinct(entry["mechanism"] for entry in entries):
        lines.append([name, *(cells.get((name, n), "-") for n in points), *([last[name]] if last else [])])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(pairs))
        for pairs in (list(zip(line, widths, strict=True)) for line in lines)
    )


def megabytes(entry: dict[str, Any], key: str) -> str:
    """The bytes of an entry in MB (10^6 bytes)."""
    return f"{entry[key] / 1e6:.1f}"


def milliseconds(seconds: float) -> str:
    """Seconds in milliseconds, with fewer digits for longer times."""
    return f"{1000 * seconds:,.{0 if seconds >= 1 else 1 if seconds >= 0.01 else 2}f}"


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))
