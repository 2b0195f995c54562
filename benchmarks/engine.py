"""How many files per second do one and two workers of a Ray cluster answer, beside processes without it?

    python benchmarks/engine.py [--files 320] [--weights modelnet40] [--samples 2] [--rounds 1]
        [--json results/bench/engine.json]

Writes small meshes and runs the job of `predict --out` four times per round: with one and two worker processes of this
machine, and with one and two workers of a local Ray cluster. Starting the processes and loading the network is timed
apart: files per second count from the first parts on. The answers are compared to the bit. Other programs disturb files
per second: keep the machine idle, run several rounds, and look at the load that is written down beside each figure.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

from predict import write_files

from sampled_transformer.engine.engines import run_here
from sampled_transformer.engine.job import Job, run_job
from sampled_transformer.engine.ray_engine import run_on_ray
from sampled_transformer.inference.answer_job import answer_job
from sampled_transformer.inference.answering import Question
from sampled_transformer.inference.defaults import DEFAULT_WEIGHTS
from sampled_transformer.support.machine import machine
from sampled_transformer.support.workers import Engine
from sampled_transformer_lab.bench.measure import load

SHARD = 16
ENGINES: dict[str, Engine] = {
    "1 process": partial(run_here, workers=1),
    "2 processes": partial(run_here, workers=2),
    "ray, 1 worker": partial(run_on_ray, workers=1),
    "ray, 2 workers": partial(run_on_ray, workers=2),
}


def measure(job: Job, names: list[str], out: Path, engine: Engine) -> dict[str, float]:
    """Seconds until the first parts, and files per second after them."""
    times: list[float] = []

    def watched(work: Any, units: Any) -> Any:
        for unit in engine(work, units):
            times.append(time.perf_counter())
            yield unit

    begin = time.perf_counter()
    run_job(job, names, out, watched)
    skipped = 2  # parts that were answered while processes started
    rest = len(names) - (skipped + 1) * SHARD
    return {"start_seconds": times[skipped] - begin, "files_per_second": rest / (times[-1] - times[skipped])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=320)
    parser.add_argument("--weights", default=DEFAULT_WEIGHTS)
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path, default=Path("results/bench/engine.json"))
    chosen = parser.parse_args()
    rounds: list[dict[str, dict[str, float]]] = []
    contents: list[list[bytes]] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "files")
        write_files(folder, chosen.files)
        names = sorted(map(str, folder.iterdir()))
        job = answer_job(Question(chosen.weights, chosen.samples), SHARD)
        print(f"{chosen.files} files, weights {chosen.weights}, {chosen.samples} cycles")
        for number in range(chosen.rounds):
            rounds.append({})
            for name, engine in ENGINES.items():
                out = Path(place, f"{name} {number}")
                row = rounds[-1][name] = {"load": load(), **measure(job, names, out, engine)}
                contents.append([path.read_bytes() for path in sorted(out.glob("part-*.parquet"))])
                ratio = row["files_per_second"] / rounds[-1]["1 process"]["files_per_second"]
                rate = f"{row['files_per_second']:6.1f} files/s, {ratio:.2f} times one process"
                print(f"{name:15} {rate}, start {row['start_seconds']:.1f} s, load {row['load']:.1f}", flush=True)
    same = all(one == contents[0] for one in contents)
    print(f"the same answers to the bit: {same}")
    result = {
        "command": "python benchmarks/engine.py",
        "machine": machine(),
        "files": chosen.files,
        "weights": chosen.weights,
        "samples": chosen.samples,
        "same_answers": same,
        "rounds": rounds,
    }
    chosen.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
