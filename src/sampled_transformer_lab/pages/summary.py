"""The claims of the paper and what became of them: claim, the paper, here, scale, verdict.

The first results page shows all of them, the README those that it has room for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ..studies import STUDIES
from .autoencoder import Judged, Task, accuracy, pretrainings, tasks, written_difference
from .autoencoder import judged as judged_tasks
from .claim import COLUMNS, Claim
from .classification import summary
from .clustering import judged as judged_clusters
from .comparison import Comparison, averages, comparisons, seed_deviation, trends
from .costs import costs
from .markdown import listed, table
from .measured import Measured, counted, scale, spread

Rows = dict[str, list[Measured]]


def claims(results: Path, found: Rows) -> list[Claim]:
    """Every claim of the paper that the results can judge."""
    return [
        *costs(results),
        *compared_studies(found),
        *autoencoder(found),
        *clusters(found),
        *limit(results),
        *approximation(),
    ]


def summary_table(results: Path, found: Rows) -> list[str]:
    return table(COLUMNS, [claim.cells("") for claim in claims(results, found)])


def readme_table(results: Path, found: Rows) -> list[str]:
    return table(COLUMNS, [claim.cells("docs/") for claim in claims(results, found) if claim.short])


def lenders(name: str, found: Rows) -> list[Measured]:
    """The rows of other studies that may lend a study their deviation between seeds, each once."""
    kind = "clustering" if STUDIES[name].kind == "clustering" else "classification"
    others = [other for other in found if STUDIES[other].kind == kind and other != name]
    return [row for other in others for row in found[other] if row.label in STUDIES[other].rows]


def compared_rows(name: str, found: Rows) -> list[Comparison]:
    rows = [row for row in found.get(name, []) if not row.row.prints]
    return comparisons(STUDIES[name], rows, seed_deviation(rows, lenders(name, found))) if rows else []


def compared_studies(found: Rows) -> Iterator[Claim]:
    """The studies that compare accuracies: with the paper's differences, or, where it has none, with each other."""
    for name, study in STUDIES.items():
        compared = compared_rows(name, found) if study.kind == "classification" else []
        judged = [one for one in compared if one.paper and not one.diverged]
        if name == "basic-modelnet40":
            title = "One layer on ModelNet40: "
            dense = [one for one in judged if one.rival == "dense"]
            others = [one for one in judged if one.rival != "dense"]
            if dense:
                yield differences(f"{title}close to dense", name, dense, found)
            if others:
                yield differences(f"{title}ahead of {listed([one.rival for one in others])}", name, others, found)
        elif judged:
            yield differences(CLAIMS.get(name, study.title.partition(",")[0]), name, judged, found)
            unprinted = [one for one in compared if not one.paper and not one.diverged]
            if unprinted:
                yield differences(
                    UNPRINTED.get(name, f"{study.title.partition(',')[0]}: other rows"), name, unprinted, found
                )
        elif compared:
            yield orders(name, compared, found)
        rows = found.get(name, [])
        grown = trends(study, rows, seed_deviation(rows, lenders(name, found))) if study.trends and rows else []
        if grown:
            yield differences("One layer: kNN attention falls as points are added", name, grown, found)


CLAIMS = {
    "ordered-modelnet40": "One layer, points in a fixed order: ahead of sparse",
    "points-modelnet40": "One layer at other numbers of points: close to dense, ahead of the rest",
    "hierarchical-modelnet40": "Hierarchical network: ahead of kNN",
    "set-transformer-modelnet40": "Set Transformer: two sampled points per row come near all points",
    "basic-bricks": "One layer on bricks, a data set of ours",
    "variants-modelnet40": "Beyond the paper: other layers of linear cost",
}


# What studies compare beyond the paper's table.
UNPRINTED = {
    "points-modelnet40": "One layer at other numbers of points: rows that the paper does not print",
    "hierarchical-modelnet40": "Hierarchical network: ahead of the same network without attention",
}


def differences(claim: str, name: str, compared: list[Comparison], found: Rows) -> Claim:
    """A claim about differences: the paper's, ours, and the verdicts on them."""
    if name == "hierarchical-modelnet40":
        compared = [replace(one, rival=_with_stages(one.rival)) for one in compared]
    rows = [row for row in found[name] if row.label in {label for one in compared for label in one.labels}]
    several = len(compared) > 1
    size = scale(rows)
    if name == "hierarchical-modelnet40" and not several:
        size = f"{compared[0].rival}, {size}"
    warning = far([(row.accuracy(), row.row.paper.get("accuracy")) for row in rows])
    means = averages(STUDIES[name], compared)
    if means:  # of one rival, which all comparisons here have
        return _mean_claim(claim, f"{name}.md", means[0], compared, size, warning)
    paper = ", ".join(f"{one.rival + ' ' if several else ''}{one.paper.value:+.2f}" for one in compared if one.paper)
    here = ", ".join(f"{one.rival + ' ' if several else ''}{written_difference(one.here)}" for one in compared)
    words = verdicts(compared) + warning
    return Claim(claim, f"{name}.md", f"{paper} points" if paper else "not shown", f"{here} points", size, words)


def _mean_claim(claim: str, page: str, mean: Comparison, compared: list[Comparison], size: str, warning: str) -> Claim:
    """A claim at several sizes: the mean over them with its error, and every size without."""
    names = f"{compared[0].rival.removesuffix(' stage')} to {compared[-1].rival}"
    printed = [one.paper.value for one in compared if one.paper]
    paper = "not shown"
    if mean.paper:
        paper = f"{mean.paper.value:+.2f} points (mean of {', '.join(f'{one:+.2f}' for one in printed)})"
    each = ", ".join(f"{one.here.value:+.2f}" for one in compared)
    here = f"{written_difference(mean.here)} points (mean of {each})"
    return Claim(claim, page, paper, here, f"{names}, {size}", f"mean: {mean.words}; {_in_short(compared)}{warning}")


def _in_short(compared: Iterable[Comparison]) -> str:
    """The outcomes without what they would resolve: "1 stage and 2 stages **refuted**; 3 stages undecided"."""
    grouped: dict[str, list[str]] = {}
    for one in compared:
        word = one.verdict.outcome or one.order.replace("open", "undecided")
        grouped.setdefault(f"**{word}**" if word == "refuted" else word, []).append(one.rival)
    return "; ".join(f"{listed(names)} {word}" for word, names in grouped.items())


def far(accuracies: Iterable[tuple[float, float | None]], tolerated: float = 3.0) -> str:
    """A warning where networks here are far from the accuracy that the paper has for them."""
    ahead = [ours - printed for ours, printed in accuracies if printed is not None]
    ends = ((max(ahead, default=0.0), "ahead of"), (-min(ahead, default=0.0), "behind"))
    parts = [f"up to {most:.0f} points {where}" for most, where in ends if most > tolerated]
    return f"; our networks are {' and '.join(parts)} the paper's" if parts else ""


def verdicts(compared: Iterable[Comparison]) -> str:
    """The verdicts, each with the names of its rivals where there are several."""
    grouped: dict[str, list[str]] = {}
    for one in compared:
        grouped.setdefault(one.words, []).append(one.rival)
    if len(grouped) == 1:
        return next(iter(grouped))
    return "; ".join(f"{listed(names)}: {words}" for words, names in grouped.items())


def orders(name: str, compared: list[Comparison], found: Rows) -> Claim:
    """A study that the paper does not have: accuracies, and who is ahead."""
    study, rows = STUDIES[name], [row for row in found[name] if not row.row.prints]
    by_name = {row.name: row for row in rows}
    shown = {row.name: row for row in map(by_name.get, (study.subject, "dense", "sampled")) if row}
    here = ", ".join(f"{row.name} {spread(row.figures('test_accuracy'))}" for row in shown.values())
    title, words = CLAIMS.get(name, study.title.partition(",")[0]), summary(study.subject, compared)
    return Claim(title, f"{name}.md", "-", f"{here} %" if here else "", scale(rows), words, short=False)


def _with_stages(name: str) -> str:
    """ "knn-2" as "2 stages"."""
    stages = name.rpartition("-")[2]
    return f"{stages} stage{'s' if stages != '1' else ''}"


def autoencoder(found: Rows) -> Iterator[Claim]:
    """The masked autoencoder, task by task: the form nearest to the paper's that was run, compared with dense."""
    name = "autoencoder-small"
    pretrained = [row for row in found.get(name, []) if row.label.startswith("pretrain-")]
    epochs = [run["epochs"] for row in pretrained for run in row.runs if "epochs" in run]
    before = f"{counted(epochs, 'epoch')} of pre-training" if epochs else ""
    first: dict[str, Judged] = {}
    for one in judged_tasks(tasks(found.get(name, [])), lenders(name, found), pretrainings(pretrained)):
        first.setdefault(one.task.title, one)
    for one in first.values():
        if one.paper is None and "way" in one.task.example:
            continue  # frozen features, which the paper does not have
        runs = [one.task.pretrained[form] for form in (one.name, "dense")]
        printed = [value for value, _ in one.task.paper() or ()]
        trained, folds = one.task.example.get("epochs"), one.task.example.get("folds", [])
        form = "sampled encoder and dense decoder" if one.name == "sampled" else ""  # the paper's has both sampled
        size = ["1,024 points", form, before, f"{trained} of training" if trained else ""]
        size += [counted([len(folds)], "fold") if folds else "", counted([*map(len, runs)], "seed")]
        yield Claim(
            f"Masked autoencoder, {plain(one.task)}: as good as dense",
            f"{name}.md",
            f"{one.paper.value:+.2f} points" if one.paper else "-",
            f"{written_difference(one.here)} points",
            ", ".join(filter(None, size)),
            one.words() + far(zip(map(accuracy, runs), printed, strict=False)),
            short=one.paper is not None,
        )


def plain(task: Task) -> str:
    """The title of a task without its scale: "5-way 10-shot", "fine-tuning", "linear probe"."""
    run = task.example
    if "way" in run:
        return f"{run['way']}-way {run['shot']}-shot"
    return task.title.partition(" on " if " on " in task.title else ",")[0].lower()


def clusters(found: Rows) -> Iterator[Claim]:
    name = "cluster"
    judged = judged_clusters(found.get(name, []), lenders(name, found))
    if judged is None:
        return
    here, paper, verdict = judged
    rows = {row.name: row for row in found[name]}
    error = "" if here.seeds is None else f" ± {here.error:.4f}"
    yield Claim(
        "Clustering: two sampled points per row come near all points",
        f"{name}.md",
        f"LL0 {paper.value:+.4f}",
        f"LL0 {here.value:+.4f}{error}",
        f"100 to 499 points per set, {scale([rows['rows'], rows['induced']])}",
        verdict.words("", 3),
    )


def limit(results: Path) -> Iterator[Claim]:
    path = results / "theory" / "monte-carlo.json"
    if not path.is_file():
        return
    result = json.loads(path.read_text("utf-8"))
    random, trained = (100 * result["cases"][case]["limit"] for case in ("random", "trained"))
    yield Claim(
        "Averaging cycles converges to dense attention",
        "monte-carlo.md",
        "Monte Carlo simulation",
        f"its limit is {random:.0f} % away with random weights, {trained:.0f} % with trained ones",
        f"one layer, {result['points']} points, {result['shapes']} shapes, {result['seeds']} draws",
        "**refuted**: it converges to another function",
    )


def approximation() -> Iterator[Claim]:
    """The theorem, which is checked as a program and not measured."""
    yield Claim(
        "Universal approximator",
        "../theory.md",
        "Corollary 4.1",
        "one network works for exactly 1 of the (n - 1)! cycles",
        "exact arithmetic, whole grids, all cycles of 3 to 5 points",
        "confirmed for one fixed cycle, after repairs; it says nothing about redrawn ones",
    )
