"""The attention mechanisms of the paper behind one contract, by name."""

from __future__ import annotations

from typing import Any

from ..support.registry import look_up
from .base import Attention, number_layers
from .beyond.linear import LinearAttention
from .beyond.rotary import RotaryAttention
from .beyond.summed import SummedAttention
from .dense import DenseAttention
from .induced import InducedAttention
from .knn import KNNAttention
from .none import NoAttention
from .sampled import SampledAttention
from .sparse import SparseAttention
from .stratified import StratifiedAttention

REGISTRY: dict[str, type[Attention]] = {
    "dense": DenseAttention,
    "induced": InducedAttention,
    "knn": KNNAttention,
    "linear": LinearAttention,
    "none": NoAttention,
    "rotary": RotaryAttention,
    "sampled": SampledAttention,
    "sparse": SparseAttention,
    "stratified": StratifiedAttention,
    "summed": SummedAttention,
}

__all__ = [
    "Attention",
    "DenseAttention",
    "InducedAttention",
    "KNNAttention",
    "LinearAttention",
    "NoAttention",
    "RotaryAttention",
    "SampledAttention",
    "SparseAttention",
    "StratifiedAttention",
    "SummedAttention",
    "create_attention",
    "list_attention",
    "number_layers",
]


def list_attention() -> list[str]:
    """The names that `create_attention` takes."""
    return sorted(REGISTRY)


def create_attention(name: str, dim: int, heads: int = 8, **options: Any) -> Attention:
    """Build a mechanism by name; options are those of its class."""
    return look_up("attention", name, REGISTRY)(dim, heads, **options)
