"""What the tests of the masked autoencoder share."""

from __future__ import annotations

import torch
from torch import Tensor

# Options of a small network.
SMALL = {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "embedding": 8, "groups": 8, "group_size": 6}


def clouds(batch: int = 3, n: int = 40) -> Tensor:
    """Points (batch, n, 3) in a cube, the same in every call."""
    return torch.rand(batch, n, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1
