"""Does the time of whole networks grow linearly with the number of points?

    python benchmarks/networks.py [--points 256 512 ...] [--threads 2] [--repeats 7] [--batch 4] [--json FILE]

Times the forward pass in evaluation and a training step (forward, backward, AdamW) of the basic network, the
hierarchical network and the masked autoencoder with sampled, linear and dense attention. All sizes and mechanisms of a
network take turns in one process. A stopwatch then shares out the time of a call: farthest points, neighbours,
attention with its projections, and the rest.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import keep_freed_memory
from sampled_transformer_lab.bench.measure import load
from sampled_transformer_lab.bench.networks import NETWORKS, Plan, exponents, measure


def show(entry: dict[str, Any]) -> None:
    name = f"{entry['network']:22} {entry['passes']:7} {entry['mechanism']:7} {entry['points']:6,}"
    if "left_out" in entry:
        print(f"{name}  {entry['left_out']}", flush=True)
        return
    shares = "  ".join(f"{part} {100 * share:.0f} %" for part, share in entry["shares"].items())
    print(f"{name} {1000 * entry['seconds']:9.1f} ms  {shares}", flush=True)


def main() -> None:
    usual = Plan()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=list(usual.sizes))
    parser.add_argument("--networks", nargs="+", choices=list(NETWORKS), default=list(usual.networks))
    parser.add_argument("--threads", type=int, help="CPU threads (default: as torch chooses)")
    parser.add_argument("--repeats", type=int, default=usual.repeats)
    parser.add_argument("--batch", type=int, default=usual.batch)
    parser.add_argument("--limit", type=float, default=usual.limit, help="seconds that one call may take")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    chosen = parser.parse_args()
    if chosen.threads is not None:
        torch.set_num_threads(chosen.threads)
    keep_freed_memory()
    plan = Plan(chosen.points, chosen.networks, chosen.batch, chosen.repeats, limit=chosen.limit)
    here, times = {**machine(), "load": load()}, []
    for entry in measure(plan):
        show(entry)
        times.append(entry)
    found = list(exponents(times))
    for row in found:
        parts = "  ".join(f"{part} {value:.2f}" for part, value in row["exponents"].items())
        print(f"{row['network']:22} {row['passes']:7} {row['mechanism']:7} exponents: {parts}")
    if chosen.json is not None:
        result = {
            "command": command(chosen, parser),
            "machine": here,
            "versions": {"torch": torch.__version__},
            "plan": asdict(plan),
            "times": times,
            "exponents": found,
        }
        chosen.json.parent.mkdir(parents=True, exist_ok=True)
        chosen.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


def command(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> str:
    """The command that repeats the measurement: the options that differ from their defaults."""
    words = ["python benchmarks/networks.py"]
    for name, value in vars(chosen).items():
        if name != "json" and value != parser.get_default(name):
            values = value if isinstance(value, list) else [value]
            words.append(f"--{name} " + " ".join(f'"{one}"' if " " in str(one) else str(one) for one in values))
    return " ".join(words)


if __name__ == "__main__":
    main()
