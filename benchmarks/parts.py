"""Which network labels the points of parts best after the same time of training on the same cores?

    python benchmarks/parts.py [DATA] [--minutes 15] [--clock processor] [--networks ...] [--half] [--json FILE]

Trains PointNet++ (SSG, part segmentation) and our segmenter on brick-parts (1,024 points with normals) for each time,
with one recipe: AdamW, a cosine over the time, cross-entropy and Lovász loss, weights of classes that fade, and fresh
points in every epoch. Then it tests on the whole test split, once. Without DATA, the folder of the whole data set, it
uses the part that comes with the package. A finished row is in the file of --json, and a second call goes on with the
others. On a machine that does other work, `--clock processor` gives each network the same share of it.
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
from functools import partial
from pathlib import Path
from typing import Any

import torch

from sampled_transformer.data import load_data
from sampled_transformer.models import Segmenter
from sampled_transformer.support.atomic import atomic_write
from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import keep_freed_memory
from sampled_transformer_lab.bench.measure import load
from sampled_transformer_lab.bench.peers.contest import CLOCKS, count_parameters
from sampled_transformer_lab.bench.peers.parts_contest import PartsRecipe, ious_of, train_parts_for
from sampled_transformer_lab.bench.peers.pointnet2_parts import PointNet2Parts

NETWORKS = {
    "PointNet++ (SSG)": PointNet2Parts,
    "segmenter, rotary (ours)": partial(Segmenter, attention="rotary", features={"normals": 3}),
    "segmenter, no attention (ours)": partial(Segmenter, attention="none", features={"normals": 3}),
}
RATES = {name: 2e-3 if "ours" in name else 1e-3 for name in NETWORKS}


def measure(
    name: str, minutes: float, data: str | None, recipe: PartsRecipe, threads: int, clock: str, answers: Any
) -> None:
    """One row, in a process of its own."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    torch.manual_seed(recipe.seed)
    train, test = (load_data("brick-parts", split, data) for split in ("train", "test"))
    network = NETWORKS[name](len(train.point_classes))
    before = load()
    trained = train_parts_for(network, train, minutes, RATES[name], recipe, CLOCKS[clock])
    answers.put(
        {
            "network": name,
            "minutes": minutes,
            "rate": RATES[name],
            "training_parts": len(train),
            "test_parts": len(test),
            **ious_of(network, test, recipe),
            "parameters": count_parameters(network),
            "peak_memory": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            "load": [before, load()],
            **trained,
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="folder of the whole of brick-parts")
    parser.add_argument("--minutes", type=float, nargs="+", default=[15.0])
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(NETWORKS))
    parser.add_argument("--threads", type=int, default=1, help="CPU threads of each network (default: 1)")
    parser.add_argument(
        "--clock",
        choices=list(CLOCKS),
        default="wall",
        help="what the minutes are of: of the clock, or of the processor",
    )
    parser.add_argument("--half", action="store_true", help="train in bfloat16, all of them")
    parser.add_argument("--together", action="store_true", help="train all at once, each with its threads")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="write the figures to this file, and go on from it")
    chosen = parser.parse_args()
    recipe = PartsRecipe(half=chosen.half, seed=chosen.seed)
    setting = {"recipe": asdict(recipe), "threads": chosen.threads, "together": chosen.together, "clock": chosen.clock}
    found: dict[str, Any] = {**setting, "machine": machine(), "rows": []}
    if chosen.json is not None and chosen.json.exists():
        found = json.loads(chosen.json.read_text("utf-8"))
        if {name: found.get(name) for name in setting} != setting:
            parser.error(f"--json: expected a file of the same recipe and threads, got {chosen.json}")
    context = multiprocessing.get_context("spawn")
    done = {(row["network"], row["minutes"]) for row in found["rows"]}
    missing = [(name, time) for time in chosen.minutes for name in chosen.networks if (name, time) not in done]
    for group in [missing] if chosen.together else [[one] for one in missing]:
        answers = context.Queue()
        arguments = [(name, time, chosen.data, recipe, chosen.threads, chosen.clock, answers) for name, time in group]
        children = [context.Process(target=measure, args=one) for one in arguments]
        for child in children:
            child.start()
        for _ in children:
            while answers.empty() and any(child.is_alive() for child in children):
                children[0].join(1)
            if answers.empty():
                parser.exit(1, f"{group}: a process ended without an answer\n")
            found["rows"].append(answers.get())
            if chosen.json is not None:
                with atomic_write(chosen.json) as file:
                    file.write(f"{json.dumps(found, indent=1)}\n".encode())
        for child in children:
            child.join()
    for row in found["rows"]:
        print(
            f"{row['minutes']:6g} min  {row['network']:32} mean IoU {100 * row['mean_iou']:6.2f} %  "
            f"{row['epochs']:6.2f} epochs  {row['parameters'] / 1e6:5.2f} M parameters  "
            f"{row['peak_memory'] / 1e9:5.2f} GB",
            flush=True,
        )


if __name__ == "__main__":
    main()
