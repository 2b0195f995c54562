"""The tables of the paper that can be measured here: which runs they need, and how those are made one by one."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data.atomic import atomic_write
from ..data.errors import printable

MECHANISMS = ("none", "dense", "sparse", "knn", "induced", "stratified", "sampled")


@dataclass(frozen=True)
class Study:
    """One table: a recipe for each of its rows, with one run for each seed."""

    title: str
    arguments: str  # of `train`, the same for all rows
    rows: Mapping[str, int]  # row -> seeds; its name is that of its recipe, unless `variants` tells another
    variants: Mapping[str, str] = field(default_factory=dict)  # row -> its recipe and further arguments of `train`
    needs_root: bool = False
    paper: Mapping[str, float] = field(default_factory=dict)  # row -> the accuracy the paper prints, per cent
    paper_column: str = ""

    def runs(self) -> list[tuple[str, int]]:
        """(row, seed), the first seed of every row before the second of any."""
        seeds = range(max(self.rows.values()))
        return [(row, seed) for seed in seeds for row, count in self.rows.items() if seed < count]

    def words(self, row: str) -> list[str]:
        """The arguments of `train` for the runs of a row."""
        recipe, *further = shlex.split(self.variants.get(row, row))
        return ["--recipe", recipe, *shlex.split(self.arguments), *further]


def _basic(**counts: int) -> dict[str, int]:
    return {f"basic-{name}": counts.get(name, counts["others"]) for name in MECHANISMS}


STUDIES = {
    "basic-bricks": Study(
        "One attention layer on bricks, 256 points with normals, 20 epochs",
        "--data bricks --data.points 256 --epochs 20",
        _basic(others=3),
    ),
    "basic-modelnet40": Study(
        "One attention layer on ModelNet40, 256 points with normals, 10 epochs",
        "--data modelnet40 --data.points 256 --epochs 10",
        {**_basic(dense=3, sparse=3, sampled=3, others=1), "basic-induced-clipped": 1},
        {"basic-induced-clipped": "basic-induced --optimiser.clip 1.0"},  # since it diverges under the common recipe
        needs_root=True,
        paper={
            "basic-none": 85.96,
            "basic-dense": 87.78,
            "basic-sparse": 87.09,
            "basic-knn": 85.80,
            "basic-induced": 84.21,
            "basic-stratified": 87.21,
            "basic-sampled": 87.34,
        },
        paper_column="single layer, 256 points",
    ),
}


def reproduce(
    name: str, root: str | None = None, results: Path = Path("results"), runs: Path = Path("runs"), workers: int = 1
) -> Iterator[str]:
    """Make the runs of a study that have no result yet, `workers` side by side; says what was made as it is done.

    A run that was interrupted goes on where it stopped, by the same command.
    """
    if name not in STUDIES:
        raise ValueError(f"table: expected one of {', '.join(STUDIES)}, got {name!r}")
    study = STUDIES[name]
    if study.needs_root and root is None:
        raise ValueError(f"root: expected the folder that holds the data set of {name}")
    if workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}")
    missing = [run for run in study.runs() if not result_file(results, name, *run).is_file()]
    yield f"{name}: {len(study.runs()) - len(missing)} of {len(study.runs())} runs have their result"
    with ThreadPoolExecutor(workers) as pool:
        try:
            waiting = [pool.submit(make_run, name, *run, root, results, runs, workers) for run in missing]
            for job in waiting:
                yield job.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)  # Ctrl-C reaches the runs as well, which save themselves
            raise


def result_file(results: Path, study: str, row: str, seed: int) -> Path:
    return results / study / f"{row}-seed{seed}.json"


def make_run(name: str, row: str, seed: int, root: str | None, results: Path, runs: Path, workers: int) -> str:
    """One run in a process of its own, with its share of the cores; its result.json becomes a file of the results."""
    out = runs / name / f"{row}-seed{seed}"
    words = ["train", *STUDIES[name].words(row), "--seed", str(seed), "--out", str(out)]
    if root is not None:
        words += ["--data.root", root]
    if (out / "config.yaml").is_file():
        words.append("--resume")
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    done = subprocess.run(
        [sys.executable, "-m", "sampled_transformer", *words],
        env={"OMP_NUM_THREADS": threads, **os.environ},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise ValueError(f"{printable(out)}: {last[0]}")
    result = json.loads((out / "result.json").read_text("utf-8"))
    write_result(result_file(results, name, row, seed), result, root)
    return f"{row}, seed {seed}: {100 * result['figures']['last epoch']['test_accuracy']:.2f} %"


def write_result(path: Path, result: dict[str, Any], root: str | None) -> None:
    """Keep what a table needs. Where the data lies on this machine is nobody's business."""
    if root is not None:
        result["command"] = result["command"].replace(shlex.quote(root), "ROOT")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write((json.dumps(result, indent=1) + "\n").encode("utf-8"))
