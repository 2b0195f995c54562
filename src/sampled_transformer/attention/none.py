"""No attention: the paper's baseline "MLP + FC"."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cycles import Cycle
from ..sets import Sets
from .base import Attention


class NoAttention(Attention):
    """Attn(X) = 0, without parameters: a block around it updates every point by itself (the paper's "MLP + FC")."""

    takes_packed = True

    def _build(self, bias: bool) -> None:
        pass

    def mix(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None) -> Tensor:
        return torch.zeros_like(x)
