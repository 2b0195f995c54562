"""The feed-forward layer of Eq. 1c and 5d."""

from __future__ import annotations

import torch
from torch import Tensor, nn

ACTIVATIONS = {"relu": torch.relu, "gelu": nn.functional.gelu}


class FeedForward(nn.Module):
    """W_2 ReLU(W_1 x), applied to every point alone."""

    def __init__(
        self, dim: int, hidden: int | None = None, *, activation: str = "relu", bias: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation: expected one of {', '.join(ACTIVATIONS)}, got {activation!r}")
        self.activation = activation
        self.expand = nn.Linear(dim, hidden or dim, bias=bias)
        self.contract = nn.Linear(hidden or dim, dim, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(ACTIVATIONS[self.activation](self.expand(x))))
