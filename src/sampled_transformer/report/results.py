"""docs/results.md, written from the files under results/ and from nothing else."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from ..tasks.studies import STUDIES, Study, result_file
from .speed import speed_section

HEADLINE = "last epoch"
OURS = "basic-sampled"
SEARCH, WEIGHTS, SPEED = "recipe-search", "weights", "bench"

HEAD = """# Results

Everything on this page was measured with the commands it names; `sampled-transformer tables page`
writes it from the files under `results/`, and a test keeps the two together.

- The headline is the accuracy on the official test split after the **last** epoch, in one pass. The best epoch is
  chosen on the test split, as much of the literature does, and stands apart for comparison only.
- mean ± standard deviation over seeds; a single seed has no deviation.
- The deviation between seeds does not hold what the finite test split adds: for an accuracy p on N shapes it is
  sqrt(p (1 - p) / N), the column "split".
- ModelNet40 is used as published: 74 of its meshes occur in both of its official splits.
- Times are wall times of whole runs, evaluation after every epoch included, on a machine that did other work beside.
"""


@dataclass(frozen=True)
class Row:
    """The runs of one row of a study."""

    label: str
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

    def seed_deviation(self) -> float | None:
        values = self.figures("test_accuracy")
        return stdev(values) if len(values) > 1 else None


def best_epoch(run: dict[str, Any]) -> str:
    return next(key for key in run["figures"] if key.startswith("best epoch (chosen on test"))


def results_page(results: Path) -> str:
    """The whole page."""
    sections = [HEAD]
    for name, study in STUDIES.items():
        rows = read_rows(results, name, study)
        if rows:
            sections.append(study_section(name, study, rows))
    if (results / SPEED).is_dir():
        sections.append(speed_section(results / SPEED))
    if (results / WEIGHTS).is_dir():
        sections.append(weights_section(results / WEIGHTS))
    if (results / SEARCH).is_dir():
        sections.append(search_section(results / SEARCH))
    return "\n".join(sections)


def read_rows(results: Path, name: str, study: Study) -> list[Row]:
    rows = []
    for label, seeds in study.rows.items():
        paths = [result_file(results, name, label, seed) for seed in range(seeds)]
        runs = [json.loads(path.read_text("utf-8")) for path in paths if path.is_file()]
        if runs:
            rows.append(Row(label, runs))
    return rows


def study_section(name: str, study: Study, rows: list[Row]) -> str:
    made, wanted = sum(len(row.runs) for row in rows), len(study.runs())
    lines = [f"## {study.title}", ""]
    if made < wanted:
        lines += [f"**{made} of {wanted} runs were made so far; the table holds those.**", ""]
    lines += list(accuracy_table(study, rows))
    ours = next((row for row in rows if row.label == OURS), None)
    if ours is not None and len(rows) > 1:
        lines += ["", *comparison(study, ours, [row for row in rows if row is not ours])]
    machine = rows[0].runs[0]["machine"]
    threads = sorted({run["machine"]["threads"] for row in rows for run in row.runs})
    lines += [
        "",
        f"Command: `sampled-transformer tables make {name}{' --root ROOT' if study.needs_root else ''}`; "
        "one run of it, for example:",
        "",
        f"    {(ours or rows[-1]).runs[0]['command']}",
        "",
        f"Machine: {machine['processor']}, {machine['cores']} cores, {' or '.join(map(str, threads))} "
        f"thread{'s' if threads != [1] else ''} a run; torch {rows[0].runs[0]['versions']['torch']}.",
        "",
    ]
    return "\n".join(lines)


def weights_section(folder: Path) -> str:
    """What the weights that come with the package reach, and how they were made."""
    lines = ["## The weights that come with the package", ""]
    for path in sorted(folder.glob("*.json")):
        entry = json.loads(path.read_text("utf-8"))
        lines += [f"### {path.stem}", "", entry["description"], ""]
        lines += ["| way to ask | accuracy % | mean over classes % |", "|---|---|---|"]
        for kind, row in entry["figures"].items():
            lines.append(f"| {kind} | {100 * row['accuracy']:.2f} | {100 * row['mean_class_accuracy']:.2f} |")
        lines += ["", f"{entry['shapes']} test shapes, {entry['points']} points. Made and measured with", ""]
        lines += [f"    {command}" for command in entry["commands"]]
        lines += ["", f"Training took {entry['seconds']:.0f} s of wall time on {entry['machine']}.", ""]
    return "\n".join(lines)


def search_section(folder: Path) -> str:
    """How the one recipe of all mechanisms was chosen."""
    lines = [
        "## The choice of the recipe",
        "",
        "One recipe for all mechanisms, chosen with dense and sampled attention on a fifth of the training split of "
        "bricks that was held out (256 points, 10 epochs, one seed); the test split had no say. On 330 shapes a "
        "difference of three points is noise, so the training loss was looked at as well: rate 2e-3 is best or level "
        "in both columns for both mechanisms; clipping and LayerNorm made no difference worth an option.",
        "",
        "| run | accuracy on validation % | training loss | command |",
        "|---|---|---|---|",
    ]
    for path in sorted(folder.glob("*.json")):
        run = json.loads(path.read_text("utf-8"))
        last = run["figures"][HEADLINE]
        figures = f"{100 * last['validation_accuracy']:.2f} | {last['train_loss']:.3f}"
        lines.append(f"| {path.stem} | {figures} | `{run['command']}` |")
    return "\n".join([*lines, ""])


def accuracy_table(study: Study, rows: Iterable[Row]) -> Iterable[str]:
    paper = bool(study.paper)
    yield (
        "| attention | seeds | accuracy % | split | mean over classes % | best epoch % (chosen on test) | s a run |"
        + (f" the paper % ({study.paper_column}) |" if paper else "")
    )
    yield "|---|---|---|---|---|---|---|" + ("---|" if paper else "")
    for row in rows:
        best = best_epoch(row.runs[0])
        cells = [
            row.name + (f" ({row.diverged()} of {len(row.runs)} diverged)" if row.diverged() else ""),
            str(len(row.runs)),
            spread(row.figures("test_accuracy")),
            f"± {row.split_deviation():.2f}",
            spread(row.figures("test_mean_class_accuracy")),
            spread(row.figures("test_accuracy", best)),
            f"{mean(run['seconds'] for run in row.runs):.0f}",
        ]
        if paper:
            cells.append(f"{study.paper[row.label]:.2f}" if row.label in study.paper else "")
        yield "| " + " | ".join(cells) + " |"


def comparison(study: Study, ours: Row, others: list[Row]) -> Iterable[str]:
    """Sampled attention beside each rival, and whether the order is the paper's."""
    yield "Sampled attention against the others, in points:"
    yield ""
    yield "| against | measured here | the paper | order |"
    yield "|---|---|---|---|"
    for other in others:
        difference = ours.accuracy() - other.accuracy()
        noise = difference_deviation(ours, other)
        claimed = None
        if ours.label in study.paper and other.label in study.paper:
            claimed = study.paper[ours.label] - study.paper[other.label]
        paper = "" if claimed is None else f"{claimed:+.2f}"
        order = "says nothing: diverged" if other.diverged() else verdict(difference, noise, claimed)
        yield f"| {other.name} | {difference:+.2f} ± {noise:.2f} | {paper} | {order} |"
    yield ""
    yield (
        "The deviation is that of the difference of two means over seeds, where a row with one seed borrows the "
        "other's; an order is called undecided within twice of it."
    )


def difference_deviation(one: Row, two: Row) -> float:
    """Of the difference of two means, between seeds; where no row has two, that of the test split."""
    deviations = [row.seed_deviation() for row in (one, two)]
    known = [value for value in deviations if value is not None]
    if not known:
        return math.hypot(one.split_deviation(), two.split_deviation())
    filled = [max(known) if value is None else value for value in deviations]
    return math.hypot(filled[0] / math.sqrt(len(one.runs)), filled[1] / math.sqrt(len(two.runs)))


def verdict(difference: float, noise: float, claimed: float | None) -> str:
    if abs(difference) <= 2 * noise:
        return "undecided"
    if claimed is None:
        return "sampled is better" if difference > 0 else "sampled is worse"
    return "as in the paper" if (difference > 0) == (claimed > 0) else "**not** as in the paper"


def spread(values: list[float]) -> str:
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")
