"""Randomness as a contract: which layers are random, and how to fix their cycles.

A random layer says so with the property `is_random` and has a `seed`, which chooses its cycles in evaluation. What a
seed chooses is `keyed_by` the points themselves, so that their order does not matter, or by their places in the list.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from torch import nn

KEYED_BY = ("points", "places")
VARIABLE = "SAMPLED_TRANSFORMER_KEYED_BY"  # of the environment: what new layers are keyed by, if they are not told

Network = TypeVar("Network", bound=nn.Module)


def settle_keys(keyed_by: str | None, name: str = "keyed_by") -> str:
    """What a new layer is keyed by: what it was told, or "points" (the environment may say "places")."""
    if keyed_by is None:
        name, keyed_by = VARIABLE, os.environ.get(VARIABLE, "points")
    if keyed_by not in KEYED_BY:
        raise ValueError(f"{name}: expected one of {', '.join(KEYED_BY)}, got {keyed_by!r}")
    return keyed_by


def key_by(network: Network, keyed_by: str) -> Network:
    """Let all that a network chooses in evaluation be keyed by "points" or by "places", and return the network.

    With "points", the default, the same set gives the same answer in any order. With "places", the cycles and the first
    of the farthest points follow from places in the list of points: so our published figures were measured.
    """
    keyed_by = settle_keys(keyed_by)
    layers: list[Any] = [module for module in network.modules() if hasattr(module, "keyed_by")]
    for layer in layers:
        layer.keyed_by = keyed_by
    return network


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
