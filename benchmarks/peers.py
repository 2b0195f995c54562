"""Which network is most accurate after the same time of training on the same cores?

    python benchmarks/peers.py DATA [--minutes 10 40] [--clock processor] [--networks ...] [--half] [--json FILE]

Trains PointNet, PointNet++ (SSG), DGCNN, Set Transformer and our pyramid on ModelNet40 (1,024 points, positions alone)
for each time, with one recipe: AdamW, the rate of its paper on a cosine over the time, label smoothing, fresh points in
every epoch. Then it tests on the whole test split, once. A finished row is in the file of --json, and a second call
goes on with the others. Memory is the peak of a process of its own. On a machine that does other work, `--clock
processor` gives each network the same share of it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import argparse
import json
import multiprocessing
import resource
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sampled_transformer.data import load_data
from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import keep_freed_memory
from sampled_transformer_lab.bench.measure import load
from sampled_transformer_lab.bench.peers import PEERS, RATES
from sampled_transformer_lab.bench.peers.contest import (
    CLOCKS,
    Recipe,
    accuracy_of,
    count_parameters,
    time_of_one,
    train_for,
)


def measure(name: str, minutes: float, data: str, recipe: Recipe, threads: int, clock: str, answers: Any) -> None:
    """One row, in a process of its own."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    torch.manual_seed(recipe.seed)
    network = PEERS[name](40)
    before = load()
    trained = train_for(network, load_data("modelnet40", "train", data), minutes, RATES[name], recipe, CLOCKS[clock])
    after = load()
    test = load_data("modelnet40", "test", data)
    answers.put(
        {
            "network": name,
            "minutes": minutes,
            "rate": RATES[name],
            "accuracy": accuracy_of(network, test, recipe),
            "parameters": count_parameters(network),
            "seconds_for_one": time_of_one(network, test.batch(np.arange(1)).points[:, : recipe.points]),
            "peak_memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "load": [before, after],
            **trained,
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="folder of ModelNet40")
    parser.add_argument("--minutes", type=float, nargs="+", default=[10.0, 40.0])
    parser.add_argument("--networks", nargs="+", choices=list(PEERS), default=list(PEERS))
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each network (default: 1)")
    parser.add_argument(
        "--clock",
        choices=list(CLOCKS),
        default="wall",
        help="what the minutes are of: of the clock, or of the processor",
    )
    parser.add_argument("--half", action="store_true", help="train in bfloat16, all of them")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures to this file, and go on from it")
    chosen = parser.parse_args()
    recipe = Recipe(half=chosen.half, seed=chosen.seed)
    setting = {"recipe": asdict(recipe), "threads": chosen.threads, "clock": chosen.clock}
    found: dict[str, Any] = {**setting, "machine": machine(), "rows": []}
    if chosen.json is not None and chosen.json.exists():
        found = json.loads(chosen.json.read_text("utf-8"))
        if {name: found.get(name) for name in setting} != setting:
            parser.error(f"--json: expected a file of the same recipe and threads, got {chosen.json}")
    context = multiprocessing.get_context("spawn")
    for minutes in chosen.minutes:
        for name in chosen.networks:
            row = next((row for row in found["rows"] if (row["network"], row["minutes"]) == (name, minutes)), None)
            if row is None:
                answers = context.Queue()
                arguments = (name, minutes, chosen.data, recipe, chosen.threads, chosen.clock, answers)
                child = context.Process(target=measure, args=arguments)
                child.start()
                while child.is_alive() and answers.empty():
                    child.join(1)
                if answers.empty():
                    parser.exit(1, f"{name}: its process ended without an answer\n")
                row = answers.get()
                child.join()
                found["rows"].append(row)
                if chosen.json is not None:
                    with atomic_write(chosen.json) as file:
                        file.write(f"{json.dumps(found, indent=1)}\n".encode())
            print(
                f"{minutes:6g} min  {name:18} {100 * row['accuracy']:6.2f} %  {row['epochs']:6.2f} epochs  "
                f"{row['parameters'] / 1e6:5.2f} M parameters  {1000 * row['seconds_for_one']:6.1f} ms for one  "
                f"{row['peak_memory'] / 1e9:5.2f} GB",
                flush=True,
            )


if __name__ == "__main__":
    main()
