"""The tables of the masked autoencoder: every task with pre-trained weights and from scratch, sampled and dense."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from ..study import Study
from .comparison import Seeds, difference, lent_deviation
from .markdown import commands, table
from .measured import HEADLINE, Measured
from .verdict import Difference, Verdict, judge

LABEL = re.compile(r"(?P<task>.+)-(?P<name>sampled|dense|paper|ours)(?P<scratch>-scratch)?")
NAMES = {"modelnet40": "ModelNet40"}
# Tables "few-shot" and "classification" of section 5.1: ShapeNet, 12 blocks, 300 epochs of pre-training. Means and
# deviations over 10 experiments, by way and shot, sampled first; then single figures.
PAPER_FEWSHOT = {
    (5, 10): ((97.0, 2.3), (95.9, 3.1)),
    (5, 20): ((98.3, 1.6), (97.2, 2.1)),
    (10, 10): ((92.7, 5.4), (90.8, 5.0)),
    (10, 20): ((93.8, 3.5), (92.8, 3.9)),
}
PAPER_FINETUNE = (93.7, 93.6)
EXPERIMENTS = 10
SHAPES = 2468  # the test split of ModelNet40
NOISE = (
    "The ± is one standard error. Few shots: over the folds, which both answer. The other tasks: seeds and test split, "
    "with the deviation between seeds of the studies of classifiers on the same data set, since no row here has a "
    "second seed. [Verdicts](index.md#verdicts) has the rules."
)
ONCE = (
    "Where each form was pre-trained once, the ± holds no chance of the pre-training. It compares two networks, and "
    "nothing follows for the mechanisms: another seed of the pre-training may turn the order round."
)


@dataclass(frozen=True)
class Task:
    """The runs of one task, by the name of their attention: pre-trained and from scratch."""

    title: str
    pretrained: dict[str, list[dict[str, Any]]]
    scratch: dict[str, list[dict[str, Any]]]

    @property
    def example(self) -> dict[str, Any]:
        return next(runs for found in (self.pretrained, self.scratch) for runs in found.values())[0]

    def rivals(self) -> list[str]:
        """The forms of sampled attention that can be compared with dense attention, the paper's first."""
        names = ("paper", "sampled", "ours") if "dense" in self.pretrained else ()
        return [name for name in names if name in self.pretrained]

    def paper(self) -> tuple[tuple[float, float | None], ...] | None:
        """What the paper prints for sampled and dense attention, with its deviation."""
        run = self.example
        if "way" in run and not run.get("frozen"):
            return PAPER_FEWSHOT.get((run["way"], run["shot"]))
        if "confusion" in run and run.get("data") == "modelnet40":
            return tuple((value, None) for value in PAPER_FINETUNE)
        return None


def autoencoder_section(study: Study, rows: list[Measured], others: Iterable[Measured] = ()) -> list[str]:
    found = tasks(rows)
    lines = ["## Pre-training", "", *pretraining(rows)]
    for task in found.values():
        lines += ["", f"## {task.title}", "", *task_table(task), "", *commands(task.example["command"])]
    compared = judged(found, others, pretrainings(rows))
    body = [
        [one.task.title, one.name, written_difference(one.here), _optional(one.paper), one.words()] for one in compared
    ]
    if body:
        note = f"{NOISE} {ONCE}" if any(one.pretrainings < 2 for one in compared) else NOISE
        lines += ["", "## Sampled against dense", ""]
        lines += [*table(["task", "sampled form", "here, points", "the paper", "verdict"], body), "", note]
    return [*lines, "", "## The bars", "", *table(["claim", "measured", "bar", "verdict"], bars(found, compared))]


def tasks(rows: list[Measured]) -> dict[str, Task]:
    """The downstream tasks of a study, by the first part of their labels."""
    found: dict[str, Task] = {}
    for row in rows:
        parts = LABEL.fullmatch(row.label)
        if parts is None or parts["task"] == "pretrain":
            continue
        task = found.setdefault(parts["task"], Task(titled(row.runs[0]), {}, {}))
        (task.scratch if parts["scratch"] else task.pretrained)[parts["name"]] = row.runs
    return found


def titled(run: dict[str, Any]) -> str:
    """What a run does, from its result."""
    data = NAMES.get(run.get("data", ""), run.get("data", ""))
    if "way" in run:
        how = "frozen features and a logistic regression" if run.get("frozen") else f"{run['epochs']} epochs"
        return f"Few-shot, {run['way']}-way {run['shot']}-shot on {data}, {how}"
    if "confusion" in run:
        return f"{'Fine-tuning on' if data == 'ModelNet40' else 'Transfer to'} {data}, {run['epochs']} epochs"
    return f"Linear probe on {data}"


def pretraining(rows: list[Measured]) -> list[str]:
    body = []
    for row in rows:
        if row.label.startswith("pretrain-"):
            run = row.runs[0]
            last = run["figures"][HEADLINE]
            probe = f"{100 * last['probe_accuracy']:.2f}" if "probe_accuracy" in last else ""
            name = row.label.removeprefix("pretrain-")
            body.append([name, f"{last['train_loss']:.5f}", probe, f"{run['seconds']:.0f}"])
    return table(["attention", "loss at the last epoch", "probe on training shapes %", "s per run"], body)


def task_table(task: Task) -> list[str]:
    """Columns: pre-trained, pre-trained in the paper, from scratch, and the gain."""
    paper = task.paper()
    ours = task.rivals()[0] if task.rivals() else "sampled"
    printed = {} if paper is None else dict(zip((ours, "dense"), paper, strict=True))
    body = []
    for name in dict.fromkeys([*task.pretrained, *task.scratch]):
        both = [found[name] for found in (task.pretrained, task.scratch) if name in found]
        cells = ["" if name not in found else written(found[name]) for found in (task.pretrained, task.scratch)]
        gain = f"{accuracy(both[0]) - accuracy(both[1]):+.2f}" if len(both) == 2 else ""
        seconds = " and ".join(f"{mean(run['seconds'] for run in runs):.0f}" for runs in both)
        from_paper = [_spread(*printed[name]) if name in printed else ""] if paper else []
        body.append([name, cells[0], *from_paper, cells[1], gain, seconds])
    heading = ["the paper %"] if paper else []
    return table(["attention", "pre-trained %", *heading, "from scratch %", "gain", "s per run"], body)


def accuracy(runs: list[dict[str, Any]]) -> float:
    """The mean headline of results of `probe`, `fewshot` or `train`, per cent."""
    return float(mean(_accuracy(run) for run in runs))


def _accuracy(run: dict[str, Any]) -> float:
    figures = run.get("figures", run)
    if "accuracy" in figures:
        return 100 * float(figures["accuracy"]["mean"])
    return 100 * float(figures.get(HEADLINE, figures)["test_accuracy"])


def written(runs: list[dict[str, Any]]) -> str:
    """The mean, with the deviation over folds or, of several runs, over seeds."""
    if len(runs) > 1:
        return _spread(accuracy(runs), stdev(_accuracy(run) for run in runs), 2)
    deviation = runs[0].get("figures", {}).get("accuracy", {}).get("deviation")
    return _spread(accuracy(runs), None if deviation is None else 100 * deviation, 2)


def _spread(value: float, deviation: float | None, digits: int = 1) -> str:
    return f"{value:.{digits}f}" + ("" if deviation is None else f" ± {deviation:.{digits}f}")


@dataclass(frozen=True)
class Judged:
    """One form of sampled attention against dense attention in one task.

    `pretrainings` is how often each form was pre-trained, with different seeds. The verdict is about the mechanisms if
    that is twice or more, and about two networks otherwise.
    """

    task: Task
    name: str
    here: Difference
    paper: Difference | None
    verdict: Verdict
    pretrainings: int

    def words(self) -> str:
        if self.pretrainings > 1:
            words = self.verdict.words()
            return words if self.paper or words.startswith("undecided") else f"sampled is {words}"
        order = {"better": "sampled ahead of dense", "worse": "sampled behind dense", "open": "not told apart"}
        return f"open for the mechanisms: one pre-training each; these two networks: {order[self.verdict.order]}"


def pretrainings(rows: list[Measured]) -> dict[str, int]:
    """How many pre-trainings each form has."""
    return {row.name: len(row.runs) for row in rows if row.label.startswith("pretrain-")}


def judged(
    found: dict[str, Task], others: Iterable[Measured], pretrained: Mapping[str, int] | None = None
) -> list[Judged]:
    """Sampled against dense, task by task, where both have been run."""
    times = pretrained or {}
    lent = list(others)
    results = []
    for task in found.values():
        deviation = lent_deviation(task.example.get("data", ""), lent)
        for name in task.rivals():
            here, paper = here_and_paper(task, name, deviation)
            least = min(times.get(name, 1), times.get("dense", 1))
            results.append(Judged(task, name, here, paper, judge(here, paper), least))
    return results


def here_and_paper(task: Task, name: str, deviation: Seeds) -> tuple[Difference, Difference | None]:
    """A form of sampled attention minus dense attention, here and in the paper.

    Few-shot runs of both answer the same folds, so their error is that of the mean difference over folds; it holds no
    second pre-training. The paper prints deviations over 10 experiments, which we take as independent.
    """
    ours, dense, printed = task.pretrained[name], task.pretrained["dense"], task.paper()
    if "way" in task.example:
        one, two = _folds(ours), _folds(dense)
        gaps = [100 * (one[fold] - two[fold]) for fold in one if fold in two]
        error = stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else None
        here = Difference(accuracy(ours) - accuracy(dense), error, freedom=len(gaps) - 1)
        if printed is None:
            return here, None
        spread = math.hypot(*(deviation or 0.0 for _, deviation in printed)) / math.sqrt(EXPERIMENTS)
        return here, Difference(printed[0][0] - printed[1][0], spread, freedom=2 * (EXPERIMENTS - 1))
    shapes = sum(map(sum, task.example["confusion"])) if "confusion" in task.example else SHAPES
    here = difference((accuracy(ours), accuracy(dense)), (len(ours), len(dense)), shapes, deviation)
    if printed is None:
        return here, None
    return here, difference((printed[0][0], printed[1][0]), (1, 1), shapes, deviation)


def _folds(runs: list[dict[str, Any]]) -> dict[tuple[int, int], float]:
    """The accuracies of few-shot runs, by seed and fold."""
    return {(run.get("seed", 0), fold["fold"]): fold["accuracy"] for run in runs for fold in run["folds"]}


def written_difference(one: Difference) -> str:
    return f"{one.value:+.2f} ± {one.error:.2f}"


def _optional(one: Difference | None) -> str:
    return "" if one is None else written_difference(one)


def bars(found: dict[str, Task], compared: Iterable[Judged] = ()) -> list[list[str]]:
    """What we set out to reach, as far as the runs made so far can tell."""
    rows, known_errors = [], {(one.task.title, one.name): one.here for one in compared}
    for task in found.values():
        known = {name: accuracy(runs) for name, runs in task.pretrained.items()}
        for name, value in known.items():
            if task.title.startswith("Linear probe"):
                rows.append(bar(f"{task.title}, {name}", value, 85, "%"))
            if task.title.startswith("Few-shot") and name in task.scratch:
                gain = value - accuracy(task.scratch[name])
                rows.append(bar(f"{task.title}, {name}: pre-trained above scratch", gain, 3, "points"))
        for name in task.rivals():
            here = known_errors.get((task.title, name))
            rows.append(bar(f"{task.title}: {name} above dense", known[name] - known["dense"], -1.5, "points", here))
    return rows


def bar(claim: str, value: float, least: float, unit: str, here: Difference | None = None) -> list[str]:
    """One line of the table of bars; `here` is the difference with its error, where it has one."""
    word = "met" if value >= least else "**missed**"
    if here is None or here.seeds is None:
        return [claim, f"{value:.2f}", f"at least {least:g} {unit}", word]
    close = ", but within its error" if abs(value - least) <= here.interval() else ""
    return [claim, f"{value:.2f} ± {here.error:.2f}", f"at least {least:g} {unit}", f"{word}{close}"]
