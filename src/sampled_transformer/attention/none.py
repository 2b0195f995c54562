"""No attention: the paper's baseline "MLP + FC"."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cycles import Cycles
from ..sets import Sets
from .base import Attention


class NoAttention(Attention):
    """Attn(X) = 0, without parameters: a block around it updates every point by itself ("MLP + FC" in section 5.2
    of the paper, https://openreview.net/forum?id=F7f4BYnDAIc).
    """

    takes_packed = True

    def _build(self, bias: bool) -> None:
        pass

    def mix(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None) -> Tensor:
        return torch.zeros_like(x)
