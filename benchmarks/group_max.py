"""How much faster on a CPU is the largest value of a group, and a training step of the pyramid with it?

    python benchmarks/group_max.py [--count 20]

Ours and torch's take turns in one process.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import argparse
import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor, nn

from sampled_transformer.layers.group_max import group_max
from sampled_transformer.models import create_model, pyramid
from sampled_transformer.support.memory import keep_freed_memory

SHAPES = ((4096, 16, 64), (8192, 8, 32), (2048, 32, 256))  # groups, points per group, features


def plain_max(x: Tensor, dim: int) -> Tensor:
    return x.max(dim).values


def in_turns(one: Callable[[], object], two: Callable[[], object], count: int) -> tuple[float, float]:
    """Median seconds of both; the first calls, which compile, do not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(count + 2):
        for call, found in zip((one, two), times, strict=True):
            begin = time.perf_counter()
            call()
            found.append(time.perf_counter() - begin)
    return median(times[0][2:]), median(times[1][2:])


def step(network: nn.Module, points: Tensor, largest: Callable[[Tensor, int], Tensor]) -> None:
    """Forward and backward pass of the pyramid in mixed precision, with one kind of maximum."""
    pyramid.group_max = largest  # type: ignore[attr-defined]
    with torch.autocast("cpu", torch.bfloat16):
        logits = network(points)
    logits.float().logsumexp(1).sum().backward()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="calls of each (default: 20)")
    count = parser.parse_args().count
    keep_freed_memory()
    torch.manual_seed(0)
    for kind in (torch.bfloat16, torch.float32):
        for shape in SHAPES:
            x = torch.randn(shape).to(kind).requires_grad_()
            gradient = torch.randn(shape[0], shape[2]).to(kind)
            plain, ours = in_turns(
                lambda: torch.autograd.grad(plain_max(x, 1), x, gradient),  # noqa: B023
                lambda: torch.autograd.grad(group_max(x, 1), x, gradient),  # noqa: B023
                count,
            )
            print(f"{str(kind).removeprefix('torch.')}, {shape}, forward and backward: {plain / ours:.1f} x")
    network, points = create_model("pyramid", classes=40).train(), torch.randn(32, 512, 3)
    plain, ours = in_turns(
        lambda: step(network, points, plain_max), lambda: step(network, points, group_max), max(3, count // 4)
    )
    print(f"training step of the pyramid, 32 sets of 512 points, bfloat16: {plain / ours:.2f} x")


if __name__ == "__main__":
    main()
