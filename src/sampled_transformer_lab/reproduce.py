"""Make the runs of a study, each in a process of its own, and keep their results."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine
from sampled_transformer.support.printable import printable
from sampled_transformer.support.registry import look_up

from .studies import STUDIES, Study


@dataclass(frozen=True)
class Place:
    """Where a study finds its data, and where it puts its runs and results."""

    study: str
    results: Path = Path("results")
    runs: Path = Path("runs")
    root: str | None = None

    def result(self, row: str, seed: int) -> Path:
        return result_file(self.results, self.study, row, seed)

    def run(self, row: str, seed: int) -> Path:
        return self.runs / self.study / f"{row}-seed{seed}"


def result_file(results: Path, study: str, row: str, seed: int) -> Path:
    return results / study / f"{row}-seed{seed}.json"


def reproduce(
    name: str,
    root: str | None = None,
    results: Path = Path("results"),
    runs: Path = Path("runs"),
    workers: int = 1,
    rows: Sequence[str] | None = None,
) -> Iterator[str]:
    """Make every run of a study that has no result yet, and yield one line per finished run.

    The same command resumes a run that was interrupted.

    Args:
        name: the study.
        root: folder of the data set, for studies that need one.
        results: folder of the result files.
        runs: folder of the run folders.
        workers: number of runs at the same time.
        rows: the rows to make (default: all).
    """
    study, place = look_up("table", name, STUDIES), Place(name, results, runs, root)
    if study.needs_root and root is None:
        raise ValueError(f"root: expected the folder that holds the data set of {name}, got none")
    if workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}")
    for row in rows or ():
        look_up("rows", row, study.rows)
    wanted = [run for run in study.runs() if rows is None or run[0] in rows]
    missing = [run for run in wanted if not place.result(*run).is_file()]
    yield f"{name}: {len(wanted) - len(missing)} of {len(wanted)} runs have their result"
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    failed = []

    def make(row: str, seed: int) -> str:
        return make_run(study, place, row, seed, threads)

    for (row, seed), job in side_by_side(study, missing, workers, make):
        try:
            yield job.result()
        except ValueError as error:  # the other runs can still be made
            failed.append(str(error))
            yield f"{row}, seed {seed}: failed"
    if failed:
        raise ValueError(f"{len(failed)} of {len(missing)} runs failed, first {failed[0]}")


def side_by_side(
    study: Study, runs: Sequence[tuple[str, int]], workers: int, make: Callable[[str, int], str]
) -> Iterator[tuple[tuple[str, int], Future[str]]]:
    """Make runs in `workers` threads, and yield each (row, seed) with its job when it is done.

    A run that depends on another starts after it; meanwhile the workers make other runs. If a run fails, those that
    depend on it fail with it.
    """
    waiting, jobs = list(runs), dict[tuple[str, int], Future[str]]()

    def needed(run: tuple[str, int]) -> tuple[str, int]:
        return study.rows[run[0]].after or "", run[1]

    def begin(run: tuple[str, int]) -> str:
        if needed(run) in jobs:
            jobs[needed(run)].result()
        return make(*run)

    with ThreadPoolExecutor(workers) as pool:
        under_way = dict[Future[str], tuple[str, int]]()
        try:
            while waiting or under_way:
                undone = {*waiting, *under_way.values()}
                ready = [run for run in waiting if needed(run) not in undone]
                for run in ready[: workers - len(under_way)]:
                    waiting.remove(run)
                    jobs[run] = pool.submit(begin, run)
                    under_way[jobs[run]] = run
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for job in done:
                    yield under_way.pop(job), job
        except BaseException:
            # Ctrl-C reaches the runs too, and each of them saves its state before it ends.
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def words(study: Study, place: Place, row: str, seed: int) -> list[str]:
    """The arguments of the program for one run."""
    entry = study.rows[row]
    runs = shlex.quote(str(place.runs / place.study))
    parts = shlex.split(entry.command.format(root=shlex.quote(place.root or ""), runs=runs, seed=seed))
    if entry.seeded:
        parts += ["--seed", str(seed)]
    if entry.prints:
        return [*parts, "--json"]
    out = place.run(row, seed)
    return [*parts, "--out", str(out), *(["--resume"] if (out / "config.yaml").is_file() else [])]


def make_run(study: Study, place: Place, row: str, seed: int, threads: str) -> str:
    """Make one run in a process of its own with its share of the cores, write its result file, and return one line."""
    command = words(study, place, row, seed)
    environment = {"OMP_NUM_THREADS": threads, **os.environ}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "sampled_transformer", *command],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise ValueError(f"{printable(place.run(row, seed))}: {last[0]}")
    if study.rows[row].prints:
        seconds = round(time.perf_counter() - begin, 3)
        command = ["sampled-transformer", *command]
        here = {**machine(), "threads": int(environment["OMP_NUM_THREADS"])}
        result = {"command": shlex.join(command), **json.loads(done.stdout), "seconds": seconds, "machine": here}
    else:
        result = json.loads((place.run(row, seed) / "result.json").read_text("utf-8"))
    write_result(place.result(row, seed), result, place.root)
    return f"{row}, seed {seed}: {headline(result)}"


def headline(result: dict[str, Any]) -> str:
    """The most important figure of a result, whichever command made it."""
    figures = result.get("figures", result)
    if "LL0" in figures:
        return f"LL0 {figures['LL0']:.4f}"
    for name in ("last epoch", "one pass"):
        figures = figures.get(name, figures)
    if "accuracy" in figures:
        value = figures["accuracy"]
        return f"{100 * (value['mean'] if isinstance(value, dict) else value):.2f} %"
    if "test_accuracy" in figures:
        return f"{100 * figures['test_accuracy']:.2f} %"
    return f"loss {figures['train_loss']:.4f}"


def write_result(path: Path, result: dict[str, Any], root: str | None) -> None:
    """Write a result file. Its command does not show where the data set lies on this machine."""
    if root is not None:
        words = shlex.split(result["command"])
        before = ["", *words[:-1]]
        hidden = [
            "ROOT" if last in ("--root", "--data.root") else word for last, word in zip(before, words, strict=True)
        ]
        result["command"] = shlex.join(hidden)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write((json.dumps(result, indent=1) + "\n").encode("utf-8"))
