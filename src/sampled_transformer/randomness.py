"""Randomness as a contract: which layers are random, and how to fix their cycles.

A random layer says so with the property `is_random` and has a `seed`, which chooses its cycles in evaluation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn


def random_layers(network: nn.Module) -> list[Any]:
    """The layers of a network whose output in evaluation depends on a seed."""
    return [module for module in network.modules() if getattr(module, "is_random", False)]


def is_random(network: nn.Module) -> bool:
    """Whether the network's output in evaluation depends on a seed."""
    return bool(random_layers(network))


@contextmanager
def cycle_seed(network: nn.Module, seed: int) -> Iterator[None]:
    """Let all random layers of a network walk the cycles of this seed in evaluation, then restore their own seeds.

    >>> with cycle_seed(network, 3):
    ...     answer = network(points)
    """
    layers = random_layers(network)
    before = [layer.seed for layer in layers]
    try:
        for layer in layers:
            layer.seed = seed
        yield
    finally:
        for layer, own in zip(layers, before, strict=True):
            layer.seed = own
