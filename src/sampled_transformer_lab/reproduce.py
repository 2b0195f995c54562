"""Make the runs of a study, each in a process of its own, and keep their results."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import torch

from sampled_transformer import __version__
from sampled_transformer.support.atomic import atomic_write, clear_leftovers
from sampled_transformer.support.locks import InUse, locked
from sampled_transformer.support.machine import machine
from sampled_transformer.support.printable import printable
from sampled_transformer.support.registry import look_up

from .children import Children, stoppable
from .progress import State, read_progress
from .studies import STUDIES
from .study import Study

RUNS = Path("runs")  # what results call the folder of the runs, wherever it lay
AGAIN = 1.0  # seconds before we look again whether another process has made a run
KEYED_BY = "SAMPLED_TRANSFORMER_KEYED_BY"  # the VARIABLE of sampled_transformer.randomness, which would load torch


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

    def lock(self, row: str, seed: int) -> Path:
        """Held by whoever makes the run."""
        return self.runs / self.study / f".{row}-seed{seed}.lock"

    def log(self, row: str, seed: int) -> Path:
        """What the run prints. It lies beside the run's folder, which must be empty when the run starts."""
        return self.runs / self.study / f"{row}-seed{seed}.log"


def result_file(results: Path, study: str, row: str, seed: int) -> Path:
    return results / study / f"{row}-seed{seed}.json"


def reproduce(
    name: str,
    root: str | None = None,
    results: Path = Path("results"),
    runs: Path = Path("runs"),
    workers: int = 1,
    rows: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    fresh: bool = False,
    watch: Callable[[Mapping[str, State]], None] | None = None,
) -> Generator[str]:
    """Make every run of a study that has no result yet, and yield one line per finished run.

    A run that another one starts from is made again, although it has a result, if the other one is to be made and the
    folder of the first lacks its weights, as in a fresh clone. Its result is replaced by that of the new run, so that
    both belong together; a line says so.

    The same command resumes a run that was interrupted. Several processes may make the same study: a run that another
    one makes is waited for. On Ctrl-C, SIGTERM and the like the runs save their state and end, and Stopped is raised.
    Close the iterator if you leave it early: that ends the runs too.

    Args:
        name: the study.
        root: folder of the data set, for studies that need one.
        results: folder of the result files.
        runs: folder of the run folders.
        workers: number of runs at the same time.
        rows: the rows to make (default: all).
        seeds: the seeds to make (default: all).
        fresh: make runs although they have a result, which is replaced when its run is complete. `runs` must be a
            new folder, or one where this was interrupted.
        watch: called about once a second with the state of every run under way, by its name.
    """
    study, place = look_up("table", name, STUDIES), Place(name, results, runs, root)
    if workers < 1:
        raise ValueError(f"workers: expected at least 1, got {workers}")
    wanted = chosen_runs(study, rows, seeds, complete=fresh)
    missing = [run for run in wanted if fresh or not place.result(*run).is_file()]
    again = without_weights(study, place, missing)
    missing = [run for run in study.runs() if run in {*missing, *again}]
    if root is None and any(study.rows[row].needs_root for row, _ in {*wanted, *missing}):
        raise ValueError(f"root: expected the folder that holds the data set of {name}, got none")
    if fresh:
        claim_folder(place)
        yield f"{name}: {len(wanted)} run{'s' * (len(wanted) > 1)} to make anew in {printable(runs / name)}"
    else:
        hint = "" if missing else "; --fresh makes them anew, `tables check` compares one seed"
        yield f"{name}: {sum(run not in missing for run in wanted)} of {len(wanted)} runs have their result{hint}"
    for row, seed in again:
        lost = f"{printable(place.run(row, seed))} lacks the weights that others start from"
        replaced = ", and its result is replaced" if place.result(row, seed).is_file() else ""
        yield f"{row}, seed {seed}: {lost}; it is made{' again' if replaced else ''} first{replaced}"
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    failed, children, begun = [], Children(), dict[tuple[str, int], float]()

    def make(row: str, seed: int) -> str:
        with locked(place.lock(row, seed), "runs", f"{row}, seed {seed}"):
            kept = (row, seed) not in again or has_weights(place, row, seed)
            if place.result(row, seed).is_file() and kept and not fresh:
                return f"{row}, seed {seed}: made by another process"
            begun[row, seed] = time.time()
            clear_leftovers(place.results / name, place.result(row, seed).name)
            return make_run(study, place, row, seed, threads, children)

    def look(under_way: Iterable[tuple[str, int]]) -> None:
        if watch is not None:
            watch({f"{row}, seed {seed}": state(study, place, row, seed, begun) for row, seed in under_way})

    jobs = side_by_side(study, missing, workers, make, look, children.stop)
    with stoppable(), closing(jobs):
        for (row, seed), job in jobs:
            try:
                yield job.result()
            except ValueError as error:  # the other runs can still be made
                failed.append(str(error))
                yield f"{row}, seed {seed}: failed, see {printable(place.log(row, seed))}"
    if failed:
        raise ValueError(f"{len(failed)} of {len(missing)} runs failed, first {failed[0]}")


def chosen_runs(
    study: Study, rows: Sequence[str] | None = None, seeds: Sequence[int] | None = None, complete: bool = False
) -> list[tuple[str, int]]:
    """The runs of some rows and seeds; `complete` adds the runs that they start from."""
    for name, given in (("rows", rows), ("seeds", seeds)):
        if given is not None and not given:
            raise ValueError(f"{name}: expected at least one, got none")
    chosen = set(study.rows if rows is None else rows)
    for row in rows or ():
        look_up("rows", row, study.rows)
        before = study.rows[row].after
        while complete and before is not None:
            chosen.add(before)
            before = study.rows[before].after
    most = max(study.rows[row].seeds for row in chosen)
    for seed in seeds or ():
        if not 0 <= seed < most:
            raise ValueError(f"seeds: expected 0 to {most - 1}, got {seed}")
    return [(row, seed) for row, seed in study.runs() if row in chosen and (seeds is None or seed in seeds)]


def without_weights(study: Study, place: Place, missing: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """The runs that `missing` start from, directly or not, which are not among them and have no weights."""
    found: list[tuple[str, int]] = []
    for row, seed in missing:
        before = study.rows[row].after
        while before is not None and seed < study.rows[before].seeds:
            if (before, seed) not in (*missing, *found):
                if has_weights(place, before, seed):
                    break
                found.append((before, seed))
            before = study.rows[before].after
    return found


def has_weights(place: Place, row: str, seed: int) -> bool:
    """Whether the run is complete in its folder, with weights that another one can start from."""
    folder = place.run(row, seed)
    result = folder / "result.json"
    if not (result.is_file() and (folder / "model.safetensors").is_file()):
        return False
    return bool(json.loads(result.read_text("utf-8")).get("finished", True))


def claim_folder(place: Place) -> None:
    """Refuse a folder with runs that were not made anew: they would be read instead of made."""
    folder = place.runs / place.study
    mark = folder / ".fresh"
    if not mark.is_file():
        if folder.exists() and any(folder.iterdir()):
            got = f"{printable(place.runs)}, which holds earlier runs of {place.study}"
            raise ValueError(f"runs: expected a new folder, or one whose runs were interrupted, got {got}")
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()


def new_folder(parent: Path, name: str) -> Path:
    """The first of name-1, name-2, ... that does not exist."""
    return next(path for path in (parent / f"{name}-{number}" for number in count(1)) if not path.exists())


def state(study: Study, place: Place, row: str, seed: int, begun: Mapping[tuple[str, int], float]) -> State:
    """How far a run is, and where its log is."""
    found = None if study.rows[row].prints else read_progress(place.run(row, seed))
    begin = begun.get((row, seed))
    text = "running" if found is None or begin is None else found.text(begin)
    return State(text, printable(place.log(row, seed)))


def side_by_side(
    study: Study,
    runs: Sequence[tuple[str, int]],
    workers: int,
    make: Callable[[str, int], str],
    look: Callable[[Iterable[tuple[str, int]]], None] = lambda under_way: None,
    stop: Callable[[], None] = lambda: None,
) -> Generator[tuple[tuple[str, int], Future[str]]]:
    """Make runs in `workers` threads, and yield each (row, seed) with its job when it is done.

    A run that depends on another starts after it; meanwhile the workers make other runs. If a run fails, those that
    depend on it fail with it. A run that raises InUse, because another process makes it, is tried again later. `look`
    is called every second with the runs under way here and there, and `stop` to end ours early.
    """
    waiting, jobs = list(runs), dict[tuple[str, int], Future[str]]()
    elsewhere = dict[tuple[str, int], float]()  # runs that another process makes, and when to try again

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
                undone, now = {*waiting, *under_way.values()}, time.monotonic()
                ready = [run for run in waiting if needed(run) not in undone and elsewhere.get(run, 0.0) <= now]
                for run in ready[: workers - len(under_way)]:
                    waiting.remove(run)
                    jobs[run] = pool.submit(begin, run)
                    under_way[jobs[run]] = run
                look(dict.fromkeys([*under_way.values(), *elsewhere]))
                if not under_way:
                    time.sleep(AGAIN)
                done, _ = wait(under_way, timeout=1, return_when=FIRST_COMPLETED)
                for job in done:
                    run = under_way.pop(job)
                    elsewhere.pop(run, None)
                    if isinstance(job.exception(), InUse):
                        waiting.append(run)
                        elsewhere[run] = time.monotonic() + AGAIN
                    else:
                        yield run, job
        except BaseException:
            stop()
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


def environment_of(study: Study, threads: str) -> dict[str, str]:
    """The environment of the study's runs; unbuffered, so that the log shows each epoch when it ends."""
    return {"OMP_NUM_THREADS": threads, **os.environ, "PYTHONUNBUFFERED": "1", KEYED_BY: study.keyed_by}


def make_run(study: Study, place: Place, row: str, seed: int, threads: str, children: Children | None = None) -> str:
    """Make one run in a process of its own with its share of the cores, write its result file, and return one line."""
    command, prints = words(study, place, row, seed), study.rows[row].prints
    environment = environment_of(study, threads)
    begin = time.perf_counter()
    log, printed = place.log(row, seed), place.log(row, seed).with_suffix(".json")
    size = log.stat().st_size if log.is_file() else 0
    program = [sys.executable, "-m", "sampled_transformer", *command]
    code = (children or Children()).run(program, log, environment, printed if prints else None)
    if code:
        lines = log.read_bytes()[size:].decode("utf-8", "replace").strip().splitlines()
        last = lines[-1] if lines else f"exit code {code}"
        raise ValueError(f"{row}, seed {seed}: {last} (log {printable(log)})")
    if prints:
        seconds = round(time.perf_counter() - begin, 3)
        command = ["sampled-transformer", *command]
        here = {**machine(), "threads": int(environment["OMP_NUM_THREADS"])}
        answer = json.loads(printed.read_text("utf-8"))
        versions = {"sampled_transformer": __version__, "torch": torch.__version__}
        result = {"command": shlex.join(command), **answer, "seconds": seconds, "machine": here, "versions": versions}
    else:
        result = json.loads((place.run(row, seed) / "result.json").read_text("utf-8"))
    write_result(place.result(row, seed), result, place.root, place.runs)
    return f"{row}, seed {seed}: {headline(result)}"


def headline(result: dict[str, Any]) -> str:
    """The most important figure of a result, such as "72.79 %"."""
    return shown(*headline_figure(result))


def shown(name: str, value: float) -> str:
    if name == "accuracy":
        return f"{value:.2f} %"
    return f"{name} {value:.2f} %" if name == "mean IoU" else f"{name} {value:.4f}"


def headline_figure(result: dict[str, Any]) -> tuple[str, float]:
    """The name (LL0, mean IoU, accuracy or loss) and value of the most important figure, whichever command made it."""
    figures = result.get("figures", result)
    if "LL0" in figures:
        return "LL0", figures["LL0"]
    for name in ("last epoch", "one pass"):
        figures = figures.get(name, figures)
    if "test_mean_iou" in figures:
        return "mean IoU", 100 * figures["test_mean_iou"]
    if "accuracy" in figures:
        value = figures["accuracy"]
        return "accuracy", 100 * (value["mean"] if isinstance(value, dict) else value)
    if "test_accuracy" in figures:
        return "accuracy", 100 * figures["test_accuracy"]
    return "loss", figures["train_loss"]


def read_json(path: Path) -> Any:
    """What a JSON file holds; the error names the file."""
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{printable(path)}: {error}; expected a JSON file") from None


def read_result(path: Path) -> dict[str, Any]:
    """A result file of a run; an error names the file and what it lacks."""
    result = read_json(path)
    try:
        headline_figure(result)
    except (AttributeError, KeyError, TypeError) as error:
        lacks = f"without {error}" if isinstance(error, KeyError) else "of another form"
        raise ValueError(f"{printable(path)}: got a result {lacks}; expected one of `tables make`") from None
    found: dict[str, Any] = result
    return found


def write_result(path: Path, result: dict[str, Any], root: str | None, runs: Path | None = None) -> None:
    """Write a result file. Its command does not show where the data set and the runs lie on this machine."""
    if runs is not None:
        words = shlex.split(result["command"])
        moved = [
            str(RUNS / Path(word).relative_to(runs)) if Path(word).is_relative_to(runs) else word for word in words
        ]
        result["command"] = shlex.join(moved)
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
