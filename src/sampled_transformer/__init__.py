"""Attention over sets and point clouds at linear cost, after "Sampled Transformer for Point Sets" (ICML 2023)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .attention import (
        Attention,
        AttentionPairs,
        DenseAttention,
        EstimatedAttention,
        InducedAttention,
        KNNAttention,
        LinearAttention,
        NoAttention,
        RotaryAttention,
        SampledAttention,
        SparseAttention,
        StratifiedAttention,
        SummedAttention,
        attention_pairs,
        create_attention,
        list_attention,
        network_cycle,
        number_layers,
    )
    from .blocks import TransformerBlock
    from .cycles import Cycle
    from .drop_in import MultiheadAttention, TransformerEncoderLayer, from_torch, to_torch
    from .estimators import SetClassifier as SetClassifier  # not in __all__: they need an extra
    from .estimators import SetFeatures as SetFeatures
    from .estimators import SetRegressor as SetRegressor
    from .inference.trained_network import TrainedNetwork, load
    from .layers.embedding import PositionEmbedding
    from .models import BasicClassifier, list_models
    from .pretrained import create_model
    from .randomness import cycle_seed, key_by
    from .weights import list_pretrained

# Names load their module on first use: the command-line program must set what torch reads before torch loads.
_HOME = {
    "Attention": "attention",
    "AttentionPairs": "attention",
    "DenseAttention": "attention",
    "EstimatedAttention": "attention",
    "InducedAttention": "attention",
    "KNNAttention": "attention",
    "LinearAttention": "attention",
    "NoAttention": "attention",
    "RotaryAttention": "attention",
    "SampledAttention": "attention",
    "SparseAttention": "attention",
    "StratifiedAttention": "attention",
    "SummedAttention": "attention",
    "attention_pairs": "attention",
    "create_attention": "attention",
    "list_attention": "attention",
    "network_cycle": "attention",
    "number_layers": "attention",
    "PositionEmbedding": "layers.embedding",
    "TransformerBlock": "blocks",
    "Cycle": "cycles",
    "MultiheadAttention": "drop_in",
    "TransformerEncoderLayer": "drop_in",
    "from_torch": "drop_in",
    "to_torch": "drop_in",
    "cycle_seed": "randomness",
    "key_by": "randomness",
    "BasicClassifier": "models",
    "create_model": "pretrained",
    "list_models": "models",
    "TrainedNetwork": "inference.trained_network",
    "load": "inference.trained_network",
    "list_pretrained": "weights",
}

# These names need an extra, so `import *` leaves them out.
_HOME_OF_EXTRAS = {
    "SetClassifier": ("estimators", "sklearn"),
    "SetFeatures": ("estimators", "sklearn"),
    "SetRegressor": ("estimators", "sklearn"),
}

__all__ = [
    "Attention",
    "AttentionPairs",
    "BasicClassifier",
    "Cycle",
    "DenseAttention",
    "EstimatedAttention",
    "InducedAttention",
    "KNNAttention",
    "LinearAttention",
    "MultiheadAttention",
    "NoAttention",
    "PositionEmbedding",
    "RotaryAttention",
    "SampledAttention",
    "SparseAttention",
    "StratifiedAttention",
    "SummedAttention",
    "TrainedNetwork",
    "TransformerBlock",
    "TransformerEncoderLayer",
    "attention_pairs",
    "create_attention",
    "create_model",
    "cycle_seed",
    "from_torch",
    "key_by",
    "list_attention",
    "list_models",
    "list_pretrained",
    "load",
    "network_cycle",
    "number_layers",
    "to_torch",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF_EXTRAS:
        value = _load_extra(name, *_HOME_OF_EXTRAS[name])
    elif name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def _load_extra(name: str, module: str, extra: str) -> Any:
    """A name whose module needs an extra; without it, the error says how to install it."""
    try:
        return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        missing = (error.name or __name__).partition(".")[0]
        if missing == __name__:
            raise
        advice = f'{missing} is not installed: pip install "sampled-transformer[{extra}]"'
        raise ImportError(f"{name}: {advice}", name=missing) from None


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_HOME_OF_EXTRAS])
