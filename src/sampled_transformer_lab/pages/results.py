"""docs/results.md, written from the files under results/ and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..monte_carlo import tables
from ..reproduce import result_file
from ..studies import STUDIES, Study
from .autoencoder import autoencoder_section
from .calibration import calibration_section
from .classification import classification_section
from .clustering import clustering_section
from .measured import HEADLINE, Measured, made_with
from .search import search_section
from .speed import speed_section

SEARCH, WEIGHTS, SPEED = "recipe-search", "weights", "bench"
MONTE_CARLO = "theory/monte-carlo.json"
SECTIONS: dict[str, Callable[[Study, list[Measured]], list[str]]] = {
    "classification": classification_section,
    "clustering": clustering_section,
    "autoencoder": autoencoder_section,
    "calibration": calibration_section,
    "search": search_section,
}

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


def results_page(results: Path) -> str:
    """The whole page."""
    sections = [HEAD]
    for name, study in STUDIES.items():
        rows = read_rows(results, name, study)
        if rows:
            sections.append(study_section(name, study, rows))
    if (results / MONTE_CARLO).is_file():
        sections.append(monte_carlo_section(json.loads((results / MONTE_CARLO).read_text("utf-8"))))
    if (results / SPEED).is_dir():
        sections.append(speed_section(results / SPEED))
    if (results / WEIGHTS).is_dir():
        sections.append(weights_section(results / WEIGHTS))
    if (results / SEARCH).is_dir():
        sections.append(recipe_section(results / SEARCH))
    return "\n".join(sections)


def read_rows(results: Path, name: str, study: Study) -> list[Measured]:
    """The rows of a study of which at least one run was made, and those of others that stand beside them."""
    rows = []
    for place, label in (*((name, label) for label in study.rows), *study.beside):
        row = STUDIES[place].rows[label] if place != name else study.rows[label]
        paths = [result_file(results, place, label, seed) for seed in range(row.seeds)]
        runs = [json.loads(path.read_text("utf-8")) for path in paths if path.is_file()]
        if runs:
            rows.append(Measured(label, row, runs))
    return rows if any(row.label in study.rows for row in rows) else []


def study_section(name: str, study: Study, rows: list[Measured]) -> str:
    made, wanted = sum(len(row.runs) for row in rows if row.label in study.rows), len(study.runs())
    lines = [f"## {study.title}", ""]
    if study.note:
        lines += [study.note, ""]
    if made < wanted:
        lines += [f"**{made} of {wanted} runs were made so far; the table holds those.**", ""]
    lines += SECTIONS[study.kind](study, rows)
    return "\n".join([*lines, "", *made_with(name, study, rows), ""])


def monte_carlo_section(result: dict[str, Any]) -> str:
    """How far sampled attention is from dense attention, by the number of points that are read."""
    head = [
        "## How sampled attention approaches dense attention",
        "",
        f"The attention layer of the weights `{result['weights']}` on {result['shapes']} shapes of bricks with "
        f"{result['points']} points, before and after its training: relative error of the layer's output against dense "
        f"attention with the same weights, when every point reads itself and R others; means over {result['seeds']} "
        'draws. "average" is the mean of R layers of two keys each, as the paper has it; the other columns are one '
        "softmax over R + 1 keys, the same with the others weighted (n - 1) / R, and with the points not read in "
        "linear sums.",
        "",
    ]
    seconds, machine = result["seconds"], result["machine"]
    made = f"`{result['command']}`, {seconds:.0f} s, {machine['threads']} of {machine['cores']} cores."
    return "\n".join([*head, *tables(result), made, ""])


def weights_section(folder: Path) -> str:
    """What the weights that come with the package reach, and how they were made."""
    lines = ["## The weights that come with the package", ""]
    for path in sorted(folder.glob("*.json")):
        entry = json.loads(path.read_text("utf-8"))
        lines += [f"### {path.stem}", "", entry["description"], ""]
        *table, measured_on = (_likelihoods if "sets" in entry else _accuracies)(entry)
        lines += [*table, f"{measured_on} Made and measured with", ""]
        lines += [f"    {command}" for command in entry["commands"]]
        lines += ["", f"Training took {entry['seconds']:.0f} s of wall time on {entry['machine']}.", ""]
    return "\n".join(lines)


def _accuracies(entry: dict[str, Any]) -> list[str]:
    lines = ["| way to ask | accuracy % | mean over classes % |", "|---|---|---|"]
    for kind, row in entry["figures"].items():
        lines.append(f"| {kind} | {100 * row['accuracy']:.2f} | {100 * row['mean_class_accuracy']:.2f} |")
    return [*lines, "", f"{entry['shapes']} test shapes, {entry['points']} points."]


def _likelihoods(entry: dict[str, Any]) -> list[str]:
    lines = ["| way to ask | LL0 | LL1 | true mixtures: LL0 | LL1 |", "|---|---|---|---|---|"]
    for kind, row in entry["figures"].items():
        values = (f"{row[key]:.4f}" for key in ("LL0", "LL1", "oracle_LL0", "oracle_LL1"))
        lines.append(f"| {kind} | {' | '.join(values)} |")
    return [*lines, "", f"{entry['sets']} fixed sets of mixtures."]


def recipe_section(folder: Path) -> str:
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
