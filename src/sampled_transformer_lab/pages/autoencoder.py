"""The tables of the masked autoencoder: every task with pre-trained weights and from scratch."""

from __future__ import annotations

from typing import Any

from ..studies import Study
from .markdown import commands, table
from .measured import HEADLINE, Measured

SCRATCH = "-scratch"
TASKS = {
    "probe": "Linear probe on ModelNet40",
    "fewshot": "Few-shot, 5-way 10-shot on ModelNet40, 50 epochs",
    "frozen": "Few-shot, 5-way 10-shot on ModelNet40, frozen features and a logistic regression",
    "finetune": "Fine-tuning on ModelNet40, 3 epochs",
    "bricks": "Transfer to bricks, 6 epochs",
}
# Tables "classification" and "few-shot" of section 5.1: ShapeNet, 12 blocks, 300 epochs of pre-training.
PAPER = {"fewshot": {"sampled": "97.0 ± 2.3", "dense": "95.9 ± 3.1"}, "finetune": {"sampled": "93.7", "dense": "93.6"}}


def autoencoder_section(study: Study, rows: list[Measured]) -> list[str]:
    by_label = {row.label: row.runs[0] for row in rows}
    lines = ["## Pre-training", "", *pretraining(by_label)]
    for task, title in TASKS.items():
        names = [label.removeprefix(f"{task}-") for label in by_label if label.startswith(f"{task}-")]
        names = list(dict.fromkeys(name.removesuffix(SCRATCH) for name in names))
        if names:
            first = next(run for label, run in by_label.items() if label.startswith(f"{task}-"))
            lines += ["", f"## {title}", "", *task_table(task, names, by_label), "", *commands(first["command"])]
    return [*lines, "", "## The bars", "", *table(["claim", "measured", "bar", "verdict"], bars(by_label))]


def pretraining(results: dict[str, dict[str, Any]]) -> list[str]:
    body = []
    for label, run in results.items():
        if label.startswith("pretrain-"):
            last = run["figures"][HEADLINE]
            probe = f"{100 * last['probe_accuracy']:.2f}" if "probe_accuracy" in last else ""
            name = label.removeprefix("pretrain-")
            body.append([name, f"{last['train_loss']:.5f}", probe, f"{run['seconds']:.0f}"])
    return table(["attention", "loss at the last epoch", "probe on training shapes %", "s per run"], body)


def task_table(task: str, names: list[str], results: dict[str, dict[str, Any]]) -> list[str]:
    """Columns: pre-trained, pre-trained in the paper, from scratch, and the gain."""
    paper = PAPER.get(task, {})
    body = []
    for name in names:
        runs = [results.get(f"{task}-{name}{ending}") for ending in ("", SCRATCH)]
        values = [None if run is None else accuracy(run) for run in runs]
        cells = ["" if run is None else written(run) for run in runs]
        known = [value for value in values if value is not None]
        gain = f"{known[0] - known[1]:+.2f}" if len(known) == 2 else ""
        seconds = " and ".join(f"{run['seconds']:.0f}" for run in runs if run is not None)
        from_paper = [paper.get(name, "")] if paper else []
        body.append([name, cells[0], *from_paper, cells[1], gain, seconds])
    heading = ["the paper %"] if paper else []
    return table(["attention", "pre-trained %", *heading, "from scratch %", "gain", "s per run"], body)


def accuracy(run: dict[str, Any]) -> float:
    """The headline of a result of `probe`, `fewshot` or `train`, per cent."""
    figures = run.get("figures", run)
    if "accuracy" in figures:
        return 100 * float(figures["accuracy"]["mean"])
    return 100 * float(figures.get(HEADLINE, figures)["test_accuracy"])


def written(run: dict[str, Any]) -> str:
    deviation = run.get("figures", {}).get("accuracy", {}).get("deviation")
    return f"{accuracy(run):.2f}" + ("" if deviation is None else f" ± {100 * deviation:.2f}")


def bars(results: dict[str, dict[str, Any]]) -> list[list[str]]:
    """The claims that the runs made so far can decide."""
    known = {label: accuracy(run) for label, run in results.items() if not label.startswith("pretrain-")}
    found = []
    for name in ("sampled", "dense"):
        if f"probe-{name}" in known:
            found.append(bar(f"linear probe on ModelNet40, {name}", known[f"probe-{name}"], 85, "%"))
        for task, how in (("fewshot", ""), ("frozen", ", frozen features")):
            one, two = f"{task}-{name}", f"{task}-{name}{SCRATCH}"
            if one in known and two in known:
                claim = f"few-shot{how}, {name}: pre-trained above scratch"
                found.append(bar(claim, known[one] - known[two], 3, "points"))
    for task, title in TASKS.items():
        one, two = f"{task}-sampled", f"{task}-dense"
        if one in known and two in known:
            found.append(bar(f"{title}: sampled above dense", known[one] - known[two], -1.5, "points"))
    return found


def bar(claim: str, value: float, least: float, unit: str) -> list[str]:
    return [claim, f"{value:.2f}", f"at least {least:g} {unit}", "met" if value >= least else "**missed**"]
