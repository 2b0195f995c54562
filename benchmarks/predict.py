"""How many files per second does `predict` answer, beside one by one? And does its memory stay flat?

Writes small meshes and asks the network about them one by one (no workers, one file per forward pass), in batches in
one process, and in batches in worker processes, all in one run, and compares the answers. Loading the network and
starting the workers is timed apart. Processor time is that of this process; other programs disturb it less than files
per second. With --memory it also prints the peak memory of the program for several numbers of files.

    python benchmarks/predict.py [--files 400] [--weights modelnet40] [--samples 8] [--batch 8] [--memory 1000 10000]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import numpy as np

from sampled_transformer.inference.answering import Question, answer_files
from sampled_transformer.inference.defaults import DEFAULT_WEIGHTS
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


def timed(question: Question, folder: Path, workers: int) -> tuple[float, float, float, list[float]]:
    """Seconds until the first answers; seconds and processor seconds per file after them; a probability per file."""
    begin = time.perf_counter()
    found = []
    first = processor = 0.0
    skipped = max(1, workers) * question.batch  # answered along with the first
    for answer in answer_files(question, [str(folder)], workers):
        found.append(answer.classes[0]["probability"])
        if len(found) == skipped:
            first, processor = time.perf_counter(), time.process_time()
    rest = len(found) - skipped
    own = (time.process_time() - processor) / rest
    return first - begin, (time.perf_counter() - first) / rest, own, found


def peak(folder: Path, arguments: argparse.Namespace) -> float:
    """Megabytes of the largest process of the program, of this one or a worker, in a process of its own."""
    program = [sys.executable, __file__, "--run", str(folder), "--batch", str(arguments.batch)]
    program += ["--weights", arguments.weights, "--samples", str(arguments.samples)]
    return float(subprocess.run(program, check=True, capture_output=True, text=True).stdout)


def run(arguments: argparse.Namespace) -> None:
    question = Question(arguments.weights, arguments.samples, batch=arguments.batch)
    for answer in answer_files(question, [arguments.run]):
        assert answer.error is None, answer.error
    usages = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(max(usages) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--weights", default=DEFAULT_WEIGHTS)
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--memory", type=int, nargs="*", default=[])
    parser.add_argument("--run", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        return run(arguments)
    alone = Question(arguments.weights, arguments.samples, batch=1)
    together = alone._replace(batch=arguments.batch)
    cores = available_cores()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "files")
        write_files(folder, arguments.files)
        print(f"{arguments.files} files, weights {arguments.weights}, {arguments.samples} cycles, {cores} cores")
        columns = ("workers", "batch", "start s", "files/s", "ratio", "processor ms", "ratio", "difference")
        print(" ".join(f"{name:>12}" for name in columns))
        base = None
        for question, workers in ((alone, 0), (together, 0), (together, cores)):
            start, seconds, own, found = timed(question, folder, workers)
            base = base or (seconds, own, found)
            row: list[object] = [workers, question.batch, f"{start:.1f}", f"{1 / seconds:.1f}"]
            row += [
                f"{base[0] / seconds:.2f}",
                *(["", ""] if workers else [f"{1e3 * own:.1f}", f"{base[1] / own:.2f}"]),
            ]
            row.append(f"{max(abs(one - other) for one, other in zip(found, base[2], strict=True)):.0e}")
            print(" ".join(f"{value:>12}" for value in row), flush=True)
        for count in arguments.memory:
            write_files(Path(place, str(count)), count)
            print(f"{count} files: at most {peak(Path(place, str(count)), arguments):.0f} MB in a process")


if __name__ == "__main__":
    main()
