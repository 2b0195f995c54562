"""The attention mechanisms behind one contract, by name: the paper's in this folder, others in `beyond`."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any, Unpack, get_args, get_origin, get_type_hints

from ..support.registry import check_options, look_up
from .attended import AttentionPairs
from .base import Attention, number_layers
from .beyond.estimated import EstimatedAttention
from .beyond.linear import LinearAttention
from .beyond.rotary import RotaryAttention
from .beyond.summed import SummedAttention
from .cyclic import network_cycle
from .dense import DenseAttention
from .induced import InducedAttention
from .knn import KNNAttention
from .none import NoAttention
from .recorded import attention_pairs
from .sampled import SampledAttention
from .sparse import SparseAttention
from .stratified import StratifiedAttention

REGISTRY: dict[str, type[Attention]] = {
    "dense": DenseAttention,
    "estimated": EstimatedAttention,
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
    "AttentionPairs",
    "DenseAttention",
    "EstimatedAttention",
    "InducedAttention",
    "KNNAttention",
    "LinearAttention",
    "NoAttention",
    "RotaryAttention",
    "SampledAttention",
    "SparseAttention",
    "StratifiedAttention",
    "SummedAttention",
    "attention_pairs",
    "create_attention",
    "list_attention",
    "network_cycle",
    "number_layers",
]


def list_attention() -> list[str]:
    """The names that `create_attention` takes."""
    return sorted(REGISTRY)


def create_attention(name: str, dim: int, heads: int = 8, **options: Any) -> Attention:
    """Build a mechanism by name; options are those of its class."""
    if name == "sampled":
        name, options = _recorded(heads, options)
    kind = look_up("attention", name, REGISTRY)
    check_options(f"the mechanism {name!r}", options, _options_of(kind))
    return kind(dim, heads, **options)


def _options_of(kind: type[Attention]) -> list[str]:
    """The keywords of a mechanism: those of its signature, and those it hands on to the classes it is made of."""
    names = [part.name for part in signature(kind).parameters.values() if part.kind is Parameter.KEYWORD_ONLY]
    for hint in get_type_hints(kind.__init__).values():
        if get_origin(hint) is Unpack:
            names += get_args(hint)[0].__annotations__
    return names


def _recorded(heads: int, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Where options live that "sampled" once had: recorded commands and files of weights still name them."""
    plain = {"rounds": 1, "estimator": "plain", "rest": "ignored", "summed": 0}
    changed = {key for key, value in plain.items() if options.get(key, value) != value}
    options = {key: value for key, value in options.items() if key not in plain or key in changed}
    if not changed:
        return "sampled", options
    if "summed" not in changed:
        return "estimated", options
    windows = {"order": "hilbert", "inner": "dense"}
    local = heads - options.pop("summed")
    if not 0 <= local < heads:
        raise ValueError(f"summed: expected 0 to {heads} heads, got {heads - local}")
    if local and any(options.get(key) != value for key, value in windows.items()):
        raise ValueError("order, inner: expected 'hilbert' and 'dense' for heads beside summed ones, got others")
    others = {key: value for key, value in options.items() if key != "subset" and key not in windows}
    return "summed", {"local": local, "window": options.get("subset", 32), **others}
