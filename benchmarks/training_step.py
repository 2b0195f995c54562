"""How much faster on a CPU is a training step that keeps freed memory and skips zero gradients?

Steps with and without skipping take turns in one process. Keeping memory cannot be switched off again, so every repeat
runs one process with it and one without.

    python benchmarks/training_step.py
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from statistics import median

import torch
from torch import nn

from sampled_transformer.data import load_data
from sampled_transformer.layers import sparse_gradient as linear
from sampled_transformer.models import create_model
from sampled_transformer.support.memory import keep_freed_memory


def steps(points: int, count: int) -> tuple[list[float], list[float]]:
    """Seconds of steps on bricks, in turns: with torch's backward pass of linear layers, and with ours."""
    torch.manual_seed(0)
    pack = load_data("bricks", "train")
    network = create_model("basic", classes=len(pack.classes), attention="sampled")
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3)
    plain, times = linear._plain, ([], [])
    for step in range(2 * count):
        batch = pack.batch(torch.randint(len(pack), (64,)).numpy())
        several = -(-points // batch.points.shape[1])  # larger sets repeat the 512 stored points, slightly moved
        xyz = batch.points.repeat(1, several, 1)[:, :points]
        xyz = xyz + 0.01 * torch.randn_like(xyz)
        normals = batch.normals.repeat(1, several, 1)[:, :points]
        linear._plain = plain if step % 2 else (lambda x: True)
        begin = time.perf_counter()
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(xyz, normals), batch.labels).backward()
        optimiser.step()
        times[step % 2].append(time.perf_counter() - begin)
    linear._plain = plain
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--one", choices=("kept", "fresh"), help="internal: print the median step of one process")
    options = parser.parse_args()
    if options.one != "fresh":
        keep_freed_memory()
    if options.one:
        print(median(steps(256, options.count)[1][2:]))
        return
    for points in (256, 1024):
        whole, sparse = (median(part[2:]) for part in steps(points, options.count))
        print(f"{points:5} points: step {whole:.3f} s, skipping zero gradients {sparse:.3f} s, {whole / sparse:.2f}x")
    ratios = []
    for _ in range(3):
        kept, fresh = (
            float(subprocess.check_output([sys.executable, __file__, "--one", how])) for how in ("kept", "fresh")
        )
        ratios.append(fresh / kept)
    print(f"keeping freed memory, 256 points: {median(ratios):.2f}x (three pairs of processes)")


if __name__ == "__main__":
    main()
