"""The runs of one row of a study, and what is said of all of them alike."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from ..studies import Row, Study

HEADLINE = "last epoch"


@dataclass(frozen=True)
class Measured:
    """A row of a study with the results of its runs."""

    label: str
    row: Row
    runs: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return self.label.partition("-")[2]

    def figures(self, key: str, epoch: str = HEADLINE) -> list[float]:
        return [100 * run["figures"][epoch][key] for run in self.runs]

    def diverged(self) -> int:
        """How many of the runs ended with a training loss a tenth above the one they once had."""
        best = best_epoch(self.runs[0])
        losses = [[run["figures"][epoch]["train_loss"] for epoch in (HEADLINE, best)] for run in self.runs]
        return sum(last > 1.1 * once for last, once in losses)

    def accuracy(self) -> float:
        return mean(self.figures("test_accuracy"))

    def split_deviation(self) -> float:
        """What the accuracy would vary with other test shapes of the same kind, per cent."""
        share, shapes = self.accuracy() / 100, sum(map(sum, self.runs[0]["confusion"]))
        return 100 * math.sqrt(share * (1 - share) / shapes)

    def seconds(self) -> float:
        return mean(run["seconds"] for run in self.runs)


def best_epoch(run: dict[str, Any]) -> str:
    return next(key for key in run["figures"] if key.startswith("best epoch (chosen on test"))


def spread(values: list[float], digits: int = 2) -> str:
    """Mean and deviation; a single value has none."""
    return f"{mean(values):.{digits}f}" + (f" ± {stdev(values):.{digits}f}" if len(values) > 1 else "")


def made_with(name: str, study: Study, rows: list[Measured]) -> list[str]:
    """The command of the whole table, that of one of its runs, and the machine."""
    own = [row for row in rows if row.label in study.rows]
    example = next((row for row in own if study.ours and row.label.startswith(study.ours)), own[-1])
    machines = [run["machine"] for row in rows for run in row.runs if "machine" in run]
    threads = sorted({one["threads"] for one in machines})
    versions = [run["versions"] for row in rows for run in row.runs if "versions" in run]
    return [
        f"Command: `sampled-transformer tables make {name}{' --root ROOT' if study.needs_root else ''}`; "
        "one run of it, for example:",
        "",
        f"    {example.runs[0]['command']}",
        "",
        f"Machine: {machines[0]['processor']}, {machines[0]['cores']} cores, {' or '.join(map(str, threads))} "
        f"thread{'s' if threads != [1] else ''} a run{'; torch ' + versions[0]['torch'] if versions else ''}.",
    ]
