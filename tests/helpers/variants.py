"""Every registered mechanism, and the options that take another path through its code."""

from __future__ import annotations

import torch

from sampled_transformer import Attention, create_attention, list_attention

DIM, HEADS = 16, 4

# Every registered mechanism as it is, and the variants that take another path through the code.
VARIANTS: dict[str, tuple[str, dict]] = {
    **{name: (name, {}) for name in list_attention()},
    "knn-vector": ("knn", {"vector": True, "k": 4}),
    "induced-sampled": ("induced", {"sampled": True}),
    "sampled-subsets": ("sampled", {"inner": "dense", "subset": 5}),
    "sampled-per-head": ("sampled", {"cycles": "per-head"}),
    "sampled-average": ("sampled", {"samples": 3}),
    "estimated-rounds": ("estimated", {"rounds": 3}),
    "estimated-consistent": ("estimated", {"rounds": 2, "estimator": "consistent", "cycles": "per-head"}),
    "estimated-rest-linear": ("estimated", {"rest": "linear", "rounds": 2}),
    "sampled-morton": ("sampled", {"order": "morton"}),
    "sampled-hilbert": ("sampled", {"order": "hilbert", "inner": "dense", "subset": 5}),
    "sampled-mixed": ("sampled", {"order": "mixed"}),
    "summed-local": ("summed", {"local": 1, "window": 5}),
    "sampled-sequential": ("sampled", {"composition": "sequential", "subset": 3}),
}
RANDOM = [
    name
    for name in VARIANTS
    if name.startswith(("sampled", "estimated")) or name in ("induced-sampled", "summed-local")
]
SHARED = ["dense", "estimated", "linear", "rotary", "sampled", "sparse", "knn", "stratified", "summed"]


def build(variant: str, **options: object) -> Attention:
    torch.manual_seed(0)
    name, own = VARIANTS[variant]
    return create_attention(name, DIM, HEADS, **own, **options)


def cloud(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(*shape, DIM, generator=generator, dtype=torch.float64).to(dtype)
    return x, (torch.rand(*shape, 3, generator=generator, dtype=torch.float64) * 2 - 1).to(dtype)
