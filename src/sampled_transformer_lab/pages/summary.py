"""The one table of the first results page: claim, the paper, here, scale, verdict."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ..studies import STUDIES, Study
from .autoencoder import PAPER, accuracy, written
from .classification import comparisons, summary
from .clustering import likelihood
from .markdown import table
from .measured import Measured, seeds, spread
from .speed import PAPER_MEMORY

Rows = dict[str, list[Measured]]


def summary_table(results: Path, found: Rows) -> list[str]:
    """Every claim of the paper that the results can judge."""
    rows = [
        *linear_cost(results),
        *memory(results),
        *one_layer(found),
        *stages(found),
        *autoencoder(found),
        *clusters(found),
        *limit(results),
    ]
    # A figure stays on one line with its deviation.
    tight = [[cell.replace(" ± ", "\u00a0±\u00a0") for cell in row] for row in rows]
    return table(["claim", "the paper", "here", "scale", "verdict"], tight)


def link(claim: str, page: str) -> str:
    return f"[{claim}]({page}.md)"


def scale(study: Study, rows: list[Measured]) -> str:
    """What the title says after the name of the study, and the seeds."""
    return ", ".join(filter(None, (study.title.partition(", ")[2], seeds(rows))))


def linear_cost(results: Path) -> Iterator[list[str]]:
    path = results / "bench" / "attention.json"
    if not path.is_file():
        return
    bars = json.loads(path.read_text("utf-8"))["bars"]
    grows = {row["claim"].partition(",")[0]: row["value"] for row in bars if "exponent of the time" in row["claim"]}
    if {"block", "core"} <= set(grows):
        verdict = "Holds for the block." if grows["block"] <= 1.1 else "Does not hold."
        if grows["core"] > 1.1:
            verdict += " The kernel alone grows faster, since large sets leave the cache."
        yield [
            link("Time grows linearly with n", "speed"),
            "O(n)",
            f"n^{grows['block']:.2f} for the block, n^{grows['core']:.2f} for the kernel alone",
            "2,048 to 131,072 points",
            verdict,
        ]


def memory(results: Path, points: int = 2048) -> Iterator[list[str]]:
    path = results / "bench" / "paper-memory.json"
    if not path.is_file():
        return
    result = json.loads(path.read_text("utf-8"))
    place = result["plan"]["points"].index(points)
    peak = {one["mechanism"]: one.get("peak_bytes") for one in result["memory"] if one["points"] == points}
    names = ("sampled", "dense-explicit", "dense")
    if not all(peak.get(name) for name in names):
        return
    ours, written_out, fused = (peak[name] / 2**30 for name in names)
    paper = [PAPER_MEMORY[name][place] for name in names[:2]]
    verdict = "Holds against a written-out matrix." if ours < written_out else "Does not hold."
    if fused <= 1.1 * ours:
        verdict += " A fused dense kernel needs no more either."
    yield [
        link("Sampled needs less memory than dense", "speed"),
        f"{paper[0]} against {paper[1]} GB",
        f"{ours:.2f} against {written_out:.2f} GB; fused dense {fused:.2f} GB",
        f"{points:,} points, one training step",
        verdict,
    ]


def one_layer(found: Rows) -> Iterator[list[str]]:
    """The studies that compare mechanisms in one layer."""
    claims = {
        "basic-modelnet40": "One layer on ModelNet40: close to dense, ahead of the rest",
        "basic-bricks": "One layer on bricks, a data set of ours",
        "variants-modelnet40": "Beyond the paper: other layers of linear cost",
    }
    for name, claim in claims.items():
        compared = comparisons(STUDIES[name], found.get(name, []))
        if not compared:
            continue
        by_name = {row.name: row for row in found[name] if not row.row.prints}
        shown = [by_name[one] for one in (STUDIES[name].subject, "dense", "sampled") if one in by_name]
        shown = list({row.name: row for row in shown}.values())
        paper = ", ".join(f"{row.name} {row.row.paper['accuracy']:.2f}" for row in shown if row.row.paper)
        yield [
            link(claim, name),
            f"{paper} %" if paper and STUDIES[name].paper_column else "-",
            ", ".join(f"{row.name} {spread(row.figures('test_accuracy'))}" for row in shown) + " %",
            scale(STUDIES[name], found[name]),
            *summary(STUDIES[name].subject, compared),
        ]


def stages(found: Rows) -> Iterator[list[str]]:
    name = "hierarchical-modelnet40"
    compared = comparisons(STUDIES[name], found.get(name, []))
    compared = [replace(one, rival=_with_stages(one.rival)) for one in compared]
    if compared:
        claimed = [f"{one.claimed:+.2f}" for one in compared if one.claimed is not None]
        yield [
            link("Hierarchical network: ahead of kNN with 1, 2 and 3 stages", name),
            f"{', '.join(claimed)} points",
            f"{', '.join(f'{one.difference:+.2f}' for one in compared)} points",
            scale(STUDIES[name], found[name]),
            *summary(STUDIES[name].subject, compared),
        ]


def _with_stages(name: str) -> str:
    """ "knn-2" as "kNN (2 stages)"."""
    stages = name.rpartition("-")[2]
    return f"kNN ({stages} stage{'s' if stages != '1' else ''})"


def autoencoder(found: Rows) -> Iterator[list[str]]:
    """The masked autoencoder, task by task, sampled compared with dense."""
    name = "autoencoder-small"
    runs = {row.label: row.runs[0] for row in found.get(name, [])}
    tasks = {
        "probe": ("linear probe", "1,024 points, 36 epochs of pre-training, 1 seed"),
        "fewshot": ("5-way 10-shot", "10 folds, 50 epochs each, 1 seed"),
        "finetune": ("fine-tuning on ModelNet40", "1,024 points, 3 epochs, 1 seed"),
    }
    for task, (title, how) in tasks.items():
        ours, dense = runs.get(f"{task}-sampled"), runs.get(f"{task}-dense")
        if ours is None or dense is None:
            continue
        printed = PAPER.get(task)
        difference = accuracy(ours) - accuracy(dense)
        yield [
            link(f"Masked autoencoder, {title}: as good as dense", name),
            f"sampled {printed['sampled']}, dense {printed['dense']} %" if printed else "-",
            f"sampled {written(ours)}, dense {written(dense)} %",
            how,
            f"Sampled is {abs(difference):.1f} points {'ahead' if difference > 0 else 'behind'}, at a small scale.",
        ]


def clusters(found: Rows) -> Iterator[list[str]]:
    name = "cluster"
    rows = {row.name: row for row in found.get(name, [])}
    if not {"rows", "induced"} <= set(rows):
        return
    ours, dense = rows["rows"], rows["induced"]
    gap = likelihood(dense) - likelihood(ours)
    printed = [row.row.paper["LL0"] for row in (ours, dense)]
    verdict = f"Holds: {gap:.3f} behind ({printed[1] - printed[0]:.3f} in the paper)."
    if "columns" in rows:
        verdict += f" A form of ours that reads every point reaches {likelihood(rows['columns']):.4f}."
    yield [
        link("Clustering: sampled inducing points come near the Set Transformer", name),
        f"LL0 {printed[0]:.4f} against {printed[1]:.4f}",
        f"LL0 {likelihood(ours):.4f} against {likelihood(dense):.4f}",
        scale(STUDIES[name], [ours, dense]),
        verdict if gap <= 2 * (printed[1] - printed[0]) else f"Does not hold: {gap:.3f} behind.",
    ]


def limit(results: Path) -> Iterator[list[str]]:
    path = results / "theory" / "monte-carlo.json"
    if not path.is_file():
        return
    result = json.loads(path.read_text("utf-8"))
    random, trained = (100 * result["cases"][case]["limit"] for case in ("random", "trained"))
    yield [
        link("Averaging cycles simulates dense attention", "monte-carlo"),
        "Monte Carlo simulation",
        f"the limit is {random:.0f} % away (random weights), {trained:.0f} % (trained)",
        f"{result['points']} points, {result['shapes']} shapes",
        "The average converges, but to another function; a consistent estimator does reach dense attention.",
    ]
