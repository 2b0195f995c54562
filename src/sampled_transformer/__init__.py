"""Attention over sets and point clouds at linear cost, after "Sampled Transformer for Point Sets" (ICML 2023)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .attention import (
        Attention,
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
        create_attention,
        list_attention,
        network_cycle,
        number_layers,
    )
    from .blocks import TransformerBlock
    from .cycles import Cycle
    from .estimators import SetClassifier as SetClassifier  # not in __all__: they need an extra
    from .estimators import SetFeatures as SetFeatures
    from .estimators import SetRegressor as SetRegressor
    from .layers.embedding import PositionEmbedding
    from .models import BasicClassifier, create_model, list_models
    from .randomness import cycle_seed

# Names load their module on first use: the command-line program must set what torch reads before torch loads.
_HOME = {
    "Attention": "attention",
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
    "create_attention": "attention",
    "list_attention": "attention",
    "network_cycle": "attention",
    "number_layers": "attention",
    "PositionEmbedding": "layers.embedding",
    "TransformerBlock": "blocks",
    "Cycle": "cycles",
    "cycle_seed": "randomness",
    "BasicClassifier": "models",
    "create_model": "models",
    "list_models": "models",
}

# These names need an extra, so `import *` leaves them out.
_HOME_OF_EXTRAS = {
    "SetClassifier": ("estimators", "sklearn"),
    "SetFeatures": ("estimators", "sklearn"),
    "SetRegressor": ("estimators", "sklearn"),
}

__all__ = [
    "Attention",
    "BasicClassifier",
    "Cycle",
    "DenseAttention",
    "EstimatedAttention",
    "InducedAttention",
    "KNNAttention",
    "LinearAttention",
    "NoAttention",
    "PositionEmbedding",
    "RotaryAttention",
    "SampledAttention",
    "SparseAttention",
    "StratifiedAttention",
    "SummedAttention",
    "TransformerBlock",
    "create_attention",
    "create_model",
    "cycle_seed",
    "list_attention",
    "list_models",
    "network_cycle",
    "number_layers",
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
