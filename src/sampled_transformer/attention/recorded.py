"""Whom the points attended to in every layer of a whole network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from .attended import AttentionPairs
from .base import Attention


def attention_pairs(network: nn.Module, *inputs: Any, **named: Any) -> tuple[Any, list[AttentionPairs]]:
    """Run a network and list the pairs of every call of its attention layers, in the order of the calls.

    >>> output, layers = attention_pairs(network, points)
    >>> layers[0].weight                              # of the first layer, (pairs, heads)

    Nothing but the layers' results changes hands: the output is that of `network(*inputs, **named)`, of the same pass
    as the pairs. Blocks of `models.set_transformer`, which compute with a layer's parts, are not seen.
    """
    found: list[AttentionPairs] = []

    def ask(layer: nn.Module, given: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        return given, {**options, "need_weights": True}

    def keep(layer: nn.Module, given: tuple[Any, ...], result: Any) -> Any:
        output, pairs = result
        found.append(pairs)
        return output

    hooks = []
    try:
        for layer in network.modules():
            if isinstance(layer, Attention):
                hooks.append(layer.register_forward_pre_hook(ask, with_kwargs=True))
                hooks.append(layer.register_forward_hook(keep, prepend=True))
        output = network(*inputs, **named)
    finally:
        for hook in hooks:
            hook.remove()
    if not found:
        raise ValueError(f"network: expected attention layers that are called, got {type(network).__name__} with none")
    return output, found
