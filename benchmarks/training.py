"""How much of a training step of the basic setting is matrix products, and how much is loading the data?

    python benchmarks/training.py [--points 1024] [--json FILE]

The products alone would take as long as the same number of operations in torch.mm of (batch * points, 256) by
(256, 256), which takes turns with the steps. Steps are measured twice: with all products, and as they really run,
without the products for points that get no gradient from the max-pool (see `layers.sparse_gradient`).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import argparse
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from sampled_transformer.data import Pack
from sampled_transformer.data.transforms import preset
from sampled_transformer.layers import sparse_gradient as linear
from sampled_transformer.models import create_model
from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import keep_freed_memory
from sampled_transformer.training.loading import Batches
from sampled_transformer_lab.bench.measure import load, seconds

BATCH, CLASSES, STORED = 64, 40, 2048


def shapes(count: int) -> Pack:
    """Boxes and ellipsoids of many proportions, with normals, so that the max-pool has something to choose from."""
    generator = np.random.default_rng(0)
    directions = generator.normal(size=(count, STORED, 3))
    box = (np.arange(count) % 2 == 0)[:, None, None]
    norm = np.where(box, np.abs(directions).max(-1, keepdims=True), np.linalg.norm(directions, axis=-1, keepdims=True))
    surface = directions / norm
    axes = generator.uniform(0.3, 1.0, size=(count, 1, 3))
    normals = np.where(box, np.where(np.abs(surface) == 1, surface, 0), surface / axes)
    normals /= np.linalg.norm(normals, axis=-1, keepdims=True)
    labels = np.arange(count) % CLASSES
    names = [str(label) for label in range(CLASSES)]
    return Pack.from_arrays(surface * axes, labels=labels, classes=names, normals=normals)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    keep_freed_memory()
    here = {**machine(), "load": load()}
    torch.manual_seed(0)
    transform, _ = preset("basic-strong", options.points)
    pack = shapes(8 * BATCH)
    batches = itertools.chain.from_iterable(
        Batches(pack, transform, True, BATCH, steps=lambda epoch=epoch: 8 * epoch) for epoch in itertools.count()
    )
    network = create_model("basic", classes=CLASSES, attention="sampled")
    optimiser = torch.optim.AdamW(network.parameters(), lr=2e-3, weight_decay=0.05)
    batch = next(batches)

    def step() -> None:
        optimiser.zero_grad()
        scores = network(batch.points, batch.normals)
        nn.functional.cross_entropy(scores, batch.labels, label_smoothing=0.1).backward()
        optimiser.step()

    def operations(run: Callable[[], None]) -> int:
        with FlopCounterMode(display=False) as counter:
            run()
        return counter.get_total_flops()

    def whole_step() -> None:
        plain, linear._plain = linear._plain, lambda x: True
        step()
        linear._plain = plain

    left, right = torch.randn(BATCH * options.points, 256), torch.randn(256, 256)
    times: dict[str, list[float]] = {"step": [], "whole": [], "data": [], "product": []}
    computed = []
    for round_ in range(options.rounds + 3):
        new: list[object] = []
        measured = {"data": seconds(lambda new=new: new.append(next(batches)))}  # type: ignore[misc]
        batch = new[0]  # type: ignore[assignment]
        measured["step"] = seconds(step)
        measured["whole"] = seconds(whole_step)
        measured["product"] = seconds(lambda: torch.mm(left, right))
        if round_ >= 3:  # the first rounds compile and touch the memory that later rounds reuse
            computed.append(operations(step))
            for name, value in measured.items():
                times[name].append(value)
    asked = operations(whole_step)
    one_step, whole, data, product = (median(times[name]) for name in ("step", "whole", "data", "product"))
    speed = 2 * left.numel() * right.shape[1] / product
    result = {
        "command": f"python benchmarks/training.py --points {options.points}",
        "machine": here,
        "versions": {"torch": torch.__version__},
        "points": options.points,
        "points_per_second": BATCH * options.points / (one_step + data),
        "torch_mm_gflops": speed / 1e9,
        "step_seconds": one_step,
        "whole_seconds": whole,
        "whole_percent": 100 * asked / speed / (whole + data),
        "computed_percent": 100 * median(computed) / speed / (one_step + data),
        "data_percent": 100 * data / (one_step + data),
    }
    print(
        f"{options.points} points, batches of {BATCH}; torch.mm {speed / 1e9:.0f} GFLOPS\n"
        f"with all products: {whole:.3f} s per step; alone they would take {result['whole_percent']:.0f} % of it "
        "(at least 65)\n"
        f"without those whose gradient is zero: {one_step:.3f} s per step, "
        f"{result['points_per_second']:,.0f} points/s; the others alone would take {result['computed_percent']:.0f} %\n"
        f"loading and augmentation {result['data_percent']:.1f} % of a step (at most 10)"
    )
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
