"""What the tests of the Set Transformer share."""

from __future__ import annotations

from typing import Any

import torch

INPUTS, DIM, HEADS = 3, 16, 4
# Every way to read the points, as options of SetEncoder.
VARIANTS: dict[str, dict[str, Any]] = {
    "induced": {"inducing": 5},
    "rows": {"inducing": 5, "reading": "rows"},
    "shared rows": {"inducing": 5, "reading": "rows", "pairs": "shared"},
    "columns": {"inducing": 5, "reading": "columns", "kept": 2},
    "dense": {"attention": "dense"},
    "sampled": {"attention": "sampled"},
    "windows": {"attention": "sampled", "inner": "dense", "subset": 4},
    "sparse": {"attention": "sparse"},
}
RANDOM = ("rows", "shared rows", "columns", "sampled", "windows")


def seeded(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Normal numbers that are the same in every call."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def softmax_mean(query: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """The mean of points (n, dim), weighted by the softmax of their scores with a query (dim,)."""
    return torch.softmax(points @ query, 0) @ points
