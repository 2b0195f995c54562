"""The runs of one row of a study, and the lines on them that every study page shares."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from ..study import Row, Study
from .markdown import commands

HEADLINE = "last epoch"
KEYED_BY_PLACES = (
    'In evaluation, cycles followed the places of the points in their list (`key_by(network, "places")`), not the '
    "points themselves, which is the default today."
)


@dataclass(frozen=True)
class Measured:
    """A row of a study with the results of its runs."""

    label: str
    row: Row
    runs: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return self.row.shown or self.label.partition("-")[2]

    def figures(self, key: str, epoch: str = HEADLINE) -> list[float]:
        return [100 * run["figures"][epoch][key] for run in self.runs]

    def diverged(self) -> int:
        """How many runs ended with a training loss a tenth above the one of their best epoch."""
        best = best_epoch(self.runs[0])
        losses = [[run["figures"][epoch]["train_loss"] for epoch in (HEADLINE, best)] for run in self.runs]
        return sum(last > 1.1 * once for last, once in losses)

    def accuracy(self) -> float:
        return mean(self.figures("test_accuracy"))

    def shapes(self) -> int:
        """Number of test shapes."""
        return sum(map(sum, self.runs[0]["confusion"]))

    def split_deviation(self) -> float:
        """Standard deviation of the accuracy over other test shapes of the same kind, in points."""
        share = self.accuracy() / 100
        return 100 * math.sqrt(share * (1 - share) / self.shapes())

    def seconds(self) -> float:
        return float(mean(run["seconds"] for run in self.runs))


def best_epoch(run: dict[str, Any]) -> str:
    names: list[str] = list(run["figures"])
    return next(name for name in names if name.startswith("best epoch (chosen on test"))


def spread(values: list[float], digits: int = 2) -> str:
    """Mean and standard deviation; a single value has no deviation."""
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def scale(rows: list[Measured]) -> str:
    """Points, epochs (or steps) and seeds of the rows: "256 points, 10 epochs, 1 to 3 seeds"."""
    counts = {unit: {run.get(f"{unit}s") for row in rows for run in row.runs} for unit in ("point", "epoch", "step")}
    counts["seed"] = {len(row.runs) for row in rows}
    known = {unit: list(filter(None, numbers)) for unit, numbers in counts.items()}
    return ", ".join(counted(numbers, unit) for unit, numbers in known.items() if numbers)


def counted(numbers: list[int], unit: str) -> str:
    """ "1 seed", "3 seeds", "1 to 3 seeds"."""
    least, most = min(numbers), max(numbers)
    return f"{least:,}{f' to {most:,}' if most > least else ''} {unit}{'s' if most > 1 else ''}"


def made_with(name: str, study: Study, rows: list[Measured]) -> list[str]:
    """The command of the whole table, the command of one of its runs, and the machine."""
    own = [row for row in rows if row.label in study.rows]
    example = next((row for row in own if study.ours and row.label.startswith(study.ours)), own[-1])
    machines = [run["machine"] for row in rows for run in row.runs if "machine" in run]
    threads = sorted({one["threads"] for one in machines})
    versions = [run["versions"] for row in rows for run in row.runs if "versions" in run]
    return [
        "## How it was made",
        "",
        "The first command makes the whole table, the second is one of its runs.",
        "",
        *commands(
            f"sampled-transformer tables make {name}{' --root ROOT' if study.needs_root else ''}",
            example.runs[0]["command"],
        ),
        "",
        f"Machine: {machines[0]['processor']}, {machines[0]['cores']} cores, {' or '.join(map(str, threads))} "
        f"thread{'s' if threads != [1] else ''} per run{'; torch ' + versions[0]['torch'] if versions else ''}.",
        *(["", KEYED_BY_PLACES] if study.keyed_by == "places" else []),
    ]
