"""What does a training step of amortised clustering with sampled attention cost beside ISAB(16) + PMA?

    python benchmarks/clustering.py [--threads 1] [--repeats 5] [--points 500 5000 50000] [--json FILE]

The variants take turns in one process, one step each as `cluster train` makes it (forward, backward, clipping, Adam).
The ratio compares each median with that of ISAB(16) + PMA as implemented here. The row "as published" computes the keys
and values of all points, as the public code does; the networks here move the inducing points through the projection
instead.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sampled_transformer import create_model
from sampled_transformer.clustering.likelihood import log_likelihood
from sampled_transformer.data.sources.gaussians import sample_mixtures
from sampled_transformer.models.set_transformer import ISAB, MAB, PMA
from sampled_transformer.support.machine import machine
from sampled_transformer.support.memory import keep_freed_memory
from sampled_transformer_lab.bench.measure import load

POINTS_OF_A_STEP = 100_000  # a step has 10 sets, or fewer where 10 would exceed this many points
REFERENCE = "ISAB(16)+PMA"
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    REFERENCE: ("set-transformer-mixture", {}),
    "ISAB(16)+PMA as published": ("set-transformer-mixture", {}),
    "rows: 2 points per inducing point": ("set-transformer-mixture", {"attention_options": {"reading": "rows"}}),
    **{
        f"columns: {kept} inducing point{'s' if kept > 1 else ''} per point": (
            "set-transformer-mixture",
            {"attention_options": {"reading": "columns", "kept": kept}},
        )
        for kept in (1, 2, 4, 8)
    },
    "sampled self-attention": ("set-transformer-mixture", {"attention": "sampled"}),
    "sampled, dense in subsets of 16": (
        "set-transformer-mixture",
        {"attention": "sampled", "attention_options": {"inner": "dense", "subset": 16}},
    ),
    "rFF+Pooling": ("pooling-mixture", {}),
}


class PublishedISAB(ISAB):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.mab1(x, MAB.forward(self.mab0, self.inducing.expand(len(x), -1, -1), x, mask))


class PublishedPMA(PMA):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return MAB.forward(self.mab, self.seeds.expand(len(x), -1, -1), x, mask)


def build(name: str) -> torch.nn.Module:
    torch.manual_seed(0)
    model, options = VARIANTS[name]
    network = create_model(model, **options)
    if name.endswith("as published"):
        for module in network.modules():
            if isinstance(module, ISAB | PMA):
                module.__class__ = PublishedISAB if isinstance(module, ISAB) else PublishedPMA
    return network.train()


def training_step(network: torch.nn.Module, points: Tensor) -> Callable[[], None]:
    optimiser = torch.optim.Adam(network.parameters(), 1e-3, fused=True)

    def step() -> None:
        optimiser.zero_grad()
        (-log_likelihood(points, network(points)).mean()).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()

    return step


def check_published(points: Tensor) -> None:
    """The two ways to compute ISAB(16) + PMA give the same mixture."""
    ours, published = build(REFERENCE), build("ISAB(16)+PMA as published")
    with torch.no_grad():
        for one, two in zip(ours(points), published(points), strict=True):
            torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


def measure(n: int, repeats: int) -> dict[str, float]:
    """Median milliseconds per step of each variant: processor time with one thread, as others may use the machine."""
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    points = sample_mixtures(max(1, min(10, POINTS_OF_A_STEP // n)), n, torch.Generator().manual_seed(0)).points
    check_published(points)
    steps = {name: training_step(build(name), points) for name in VARIANTS}
    seconds: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for repeat in range(repeats + 1):
        for name, step in steps.items():
            begin = clock()
            step()
            if repeat:  # the first round warms up
                seconds[name].append(clock() - begin)
    return {name: 1000 * statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--points", type=int, nargs="+", default=[500, 5000, 50_000])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    here = {**machine(), "load": load()}
    rows = []
    for n in arguments.points:
        print(f"n = {n}, {max(1, min(10, POINTS_OF_A_STEP // n))} sets per step, {arguments.threads} thread(s)")
        found = measure(n, arguments.repeats)
        for name, milliseconds in found.items():
            ratio = milliseconds / found[REFERENCE]
            rows.append({"n": n, "variant": name, "milliseconds": milliseconds, "ratio": ratio})
            print(f"  {name:36} {milliseconds:9.1f} ms  {ratio:5.2f} of {REFERENCE}")
    if arguments.json:
        command = f"python benchmarks/clustering.py --threads {arguments.threads} --repeats {arguments.repeats}"
        command += f" --points {' '.join(map(str, arguments.points))}"
        result = {"command": command, "machine": here, "versions": {"torch": torch.__version__}, "rows": rows}
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
