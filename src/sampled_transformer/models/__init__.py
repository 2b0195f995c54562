"""The networks of the paper, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch import nn

from ..support.registry import check_options, look_up
from .basic import BasicClassifier
from .hierarchical import HierarchicalClassifier
from .mae import MaskedAutoencoder, MaskedAutoencoderClassifier
from .mixture import PoolingMixture, SetTransformerMixture
from .pyramid import PyramidClassifier
from .segmenter import Segmenter
from .set_transformer import SetTransformer

REGISTRY: dict[str, Callable[..., nn.Module]] = {
    "basic": BasicClassifier,
    "hierarchical": HierarchicalClassifier,
    "mae": MaskedAutoencoder,
    "mae-classifier": MaskedAutoencoderClassifier,
    "pooling-mixture": PoolingMixture,
    "pyramid": PyramidClassifier,
    "segmenter": Segmenter,
    "set-transformer": SetTransformer,
    "set-transformer-mixture": SetTransformerMixture,
}
WITHOUT_NORMALS = ("mae", "mae-classifier")  # networks that read positions alone

__all__ = [
    "WITHOUT_NORMALS",
    "BasicClassifier",
    "HierarchicalClassifier",
    "MaskedAutoencoder",
    "MaskedAutoencoderClassifier",
    "PoolingMixture",
    "PyramidClassifier",
    "Segmenter",
    "SetTransformer",
    "SetTransformerMixture",
    "create_model",
    "list_models",
]


def list_models() -> list[str]:
    """The names that `create_model` takes."""
    return sorted(REGISTRY)


def create_model(name: str, **options: Any) -> nn.Module:
    """Build a network by name, with new weights. `sampled_transformer.create_model` also knows trained ones.

    Args:
        name: one of `list_models()`.
        options: the arguments of its class.
    """
    if "pretrained" in options:
        raise ValueError("pretrained: expected none here, got weights; sampled_transformer.create_model takes them")
    network = look_up("model", name, REGISTRY)
    parameters = inspect.signature(network).parameters
    check_options(f"the network {name!r}", options, parameters)
    for needed in parameters.values():
        if needed.default is needed.empty and needed.name not in options:
            raise ValueError(f"{needed.name}: expected a value, which the network {name!r} needs, got none")
    return network(**options)
