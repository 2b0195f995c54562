"""Weights to begin with: those of an earlier run, instead of random ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from ..data.errors import printable
from ..weights import WeightsError, load_model

HEAD = "head."  # what depends on the classes


@dataclass(frozen=True)
class Loaded:
    """Which tensors of a network came from a file, and which stay as they were."""

    path: Path
    loaded: tuple[str, ...]
    fresh: tuple[str, ...]

    def __str__(self) -> str:
        new = f"; new: {', '.join(self.fresh)}" if self.fresh else ""
        return f"{printable(self.path)}: {len(self.loaded)} of {len(self.loaded) + len(self.fresh)} tensors loaded{new}"


@torch.no_grad()
def load_initial(network: nn.Module, model: str, classes: tuple[str, ...], path: Path) -> Loaded:
    """Copy the weights of a file into a network of the same kind; the head stays new where the classes differ."""
    other, description = load_model(path)
    where = printable(path)
    if description.model != model:
        raise WeightsError(f"init: expected weights of the model {model!r}, {where} holds a {description.model!r}")
    own, theirs = network.state_dict(), other.state_dict()
    keeps_head = tuple(description.classes) == tuple(classes)
    for name in own.keys() ^ theirs.keys():
        raise WeightsError(f"init: {where} fits another network: {name} is only in one of the two")
    wanted = [name for name in own if keeps_head or not name.startswith(HEAD)]
    for name in wanted:
        if own[name].shape != theirs[name].shape:
            shapes = f"expected {tuple(own[name].shape)}, got {tuple(theirs[name].shape)}"
            raise WeightsError(f"init: {where} fits another network: {name}: {shapes}")
    for name in wanted:
        own[name].copy_(theirs[name])
    return Loaded(path, tuple(wanted), tuple(name for name in own if name not in wanted))
