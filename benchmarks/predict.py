"""How many files per second does `predict` answer, beside one by one?

Writes small meshes and asks the default networks of `predict` about them one by one (no workers, one file per forward
pass), in batches in one process, and in batches in worker processes, in turn and several times in one run, and compares
the answers. Both sides are what a user would run: `--workers 0 --batch 1`, and the defaults. Rates do not count loading
the networks and starting the workers, which are timed apart. Processor time is that of all processes, from their start
to their end; other programs disturb it less than files per second. Memory over 10,000 files:
sampled_transformer_lab.load.files.

    python benchmarks/predict.py [--files 960] [--weights NAME] [--samples 8] [--batch 32] [--rounds 3]
        [--json results/bench/predict.json]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import numpy as np

from sampled_transformer.inference.answering import Question, answer_files
from sampled_transformer.inference.defaults import DEFAULT_TWIN, DEFAULT_WEIGHTS
from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine
from sampled_transformer.support.workers import available_cores


def write_files(folder: Path, count: int) -> None:
    """Boxes of different proportions, as OFF."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [f"3 {a} {b} {c}\n3 {a} {c} {d}" for a, b, c, d in sides]
    generator = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for number in range(count):
        rows = [f"{x:.4f} {y:.4f} {z:.4f}" for x, y, z in corners * generator.uniform(0.1, 1, 3)]
        text = "\n".join(["OFF", "8 12 0", *rows, *faces, ""])
        (folder / f"{number:06d}.off").write_text(text)


def timed(question: Question, folder: Path, workers: int) -> dict[str, Any]:
    """Seconds until the first answers; seconds per file after them; processor seconds; a probability per file."""
    begin, processor = time.perf_counter(), used()
    found: list[float] = []
    first = begin
    skipped = max(1, workers) * question.batch  # answered along with the first
    for answer in answer_files(question, [str(folder)], workers):
        assert answer.error is None, answer.error
        found.append(answer.classes[0]["probability"])  # type: ignore[union-attr]
        if len(found) == skipped:
            first = time.perf_counter()
    rest = len(found) - skipped
    return {
        "start": first - begin,
        "seconds": (time.perf_counter() - first) / rest,
        "processor": (used() - processor) / len(found),
        "found": found,
    }


def used() -> float:
    """Processor seconds of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=960)
    parser.add_argument("--weights", help="ask this network alone (default: the two of `predict`)")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--batch", type=int, default=Question("").batch)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    asked = [DEFAULT_WEIGHTS, DEFAULT_TWIN] if arguments.weights is None else [arguments.weights]
    alone = Question(asked[0], arguments.samples, batch=1, twin=asked[1] if len(asked) > 1 else None)
    together = alone._replace(batch=arguments.batch)
    cores = available_cores()
    plans = {"one by one": (alone, 0), "batches": (together, 0), "batches and workers": (together, cores)}
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in plans}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "files")
        write_files(folder, arguments.files)
        load = os.getloadavg()[0]
        print(f"{arguments.files} files, weights {' and '.join(asked)}, {arguments.samples} cycles, {cores} cores")
        print(f"other programs: load {load:.1f} at the beginning")
        for number in range(arguments.rounds):
            for name, (question, workers) in plans.items():
                rows[name].append(timed(question, folder, workers))
                one = rows[name][-1]
                print(f"  {number} {name:20} {1 / one['seconds']:7.1f} files/s, {1e3 * one['processor']:5.1f} ms")
    base = rows["one by one"]
    table = []
    for name, own in rows.items():
        ratios = [first["seconds"] / one["seconds"] for first, one in zip(base, own, strict=True)]
        differences = [abs(a - b) for a, b in zip(base[0]["found"], own[0]["found"], strict=True)]
        table.append(
            {
                "name": name,
                "workers": plans[name][1],
                "batch": plans[name][0].batch,
                "start_seconds": round(median(one["start"] for one in own), 2),
                "files_per_second": [round(1 / one["seconds"], 1) for one in own],
                "ratios": [round(ratio, 2) for ratio in ratios],
                "processor_milliseconds_per_file": round(1e3 * median(one["processor"] for one in own), 2),
                "largest_difference": max(differences),
            }
        )
        print(
            f"{name:20} {median(table[-1]['files_per_second']):7.1f} files/s, {median(ratios):.2f} times one by one; "
            f"{table[-1]['processor_milliseconds_per_file']:.1f} ms of processor time per file with the start; "
            f"answers differ by at most {max(differences):.0e}"
        )
    if arguments.json is not None:
        known = {"command": "python benchmarks/predict.py", "files": arguments.files, "weights": asked}
        known |= {"samples": arguments.samples, "cores": cores, "load_before": round(load, 1), "rows": table}
        with atomic_write(arguments.json) as file:
            file.write(f"{json.dumps({**known, 'machine': machine()}, indent=1)}\n".encode())


if __name__ == "__main__":
    main()
