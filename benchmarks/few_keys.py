"""How much faster in float32 is a training step of dense attention in bfloat16, where the keys are few?

    python benchmarks/few_keys.py [--count 20]

Both take turns in one process. Above 1, `attention/extreme.py` is right to convert; it does so up to FEW_KEYS keys.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

import argparse
import time
from statistics import median

import torch

from sampled_transformer.attention import extreme
from sampled_transformer.attention.extreme import fused_attention
from sampled_transformer.support.memory import keep_freed_memory

SHAPES = ((32, 4, 16), (32, 2, 64), (32, 8, 256), (16, 8, 512), (8, 8, 1024))  # sets, heads, keys
WIDTH = 32


def step(parts: list[torch.Tensor], gradient: torch.Tensor, few: int) -> float:
    """Seconds of a forward and a backward pass, with FEW_KEYS set to `few`."""
    extreme.FEW_KEYS = few
    begin = time.perf_counter()
    torch.autograd.grad(fused_attention(*parts, None, 0.0, WIDTH**-0.5), parts, gradient)  # type: ignore[arg-type]
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="steps of each (default: 20)")
    count = parser.parse_args().count
    keep_freed_memory()
    torch.manual_seed(0)
    for sets, heads, keys in SHAPES:
        shape = (sets, heads, keys, WIDTH)
        parts = [torch.randn(shape, dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
        gradient = torch.randn(shape, dtype=torch.bfloat16)
        half, single = (
            median(times[2:])
            for times in zip(
                *((step(parts, gradient, few) for few in (0, keys)) for _ in range(count + 2)), strict=True
            )
        )
        print(f"{sets} sets, {heads} heads, {keys} keys, forward and backward: {half / single:.1f} x")


if __name__ == "__main__":
    main()
