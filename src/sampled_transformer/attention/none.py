"""No attention: the paper's baseline "MLP + FC"."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cycles import Cycles
from ..sets import Sets
from .attended import FewKeys, Points
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

    def read(
        self, asking: Points, answering: Points, cycle: Cycles | None, need_weights: bool
    ) -> tuple[Tensor, FewKeys]:
        batch, n, _ = asking.x.shape
        index = torch.zeros(1, 1, n, 0, dtype=torch.int64, device=asking.x.device)
        return torch.zeros_like(asking.x), FewKeys(index, asking.x.new_zeros(batch, n, 0, self.heads))

    def context_refusal(self, cycle: Cycles | None) -> str:
        return "it reads no points"
