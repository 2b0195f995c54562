"""The feed-forward layer of Eq. 1c and 5d."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .sparse_gradient import Linear, belongs_to_nobody

ACTIVATIONS = {"relu": torch.relu, "gelu": nn.functional.gelu}


class FeedForward(nn.Module):
    """W_2 ReLU(W_1 x), applied to every point alone."""

    def __init__(self, dim: int, hidden: int | None = None, *, activation: str = "relu", bias: bool = False) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation: expected one of {', '.join(ACTIVATIONS)}, got {activation!r}")
        self.activation = activation
        hidden = dim if hidden is None else hidden
        if hidden < 1:
            raise ValueError(f"hidden: expected at least 1, got {hidden}")
        self.expand = Linear(dim, hidden, bias=bias)
        self.contract = Linear(hidden, dim, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.expand(x)
        if self.activation == "relu" and belongs_to_nobody(hidden):
            return self.contract(torch.relu_(hidden))
        return self.contract(ACTIVATIONS[self.activation](hidden))
