"""Stochastic depth."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class DropPath(nn.Module):
    """Skip a residual branch for some sets in training (stochastic depth, https://arxiv.org/abs/1603.09382).

        DropPath(x) = x b / (1 - p),    b ~ Bernoulli(1 - p) for each set

    The expected value is x. In evaluation, DropPath(x) = x.

    Args:
        probability: p, the probability that a set loses the branch.
    """

    def __init__(self, probability: float = 0.0) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise ValueError(f"drop_path: expected a probability from 0 to below 1, got {probability}")
        self.probability = probability

    def forward(self, x: Tensor, ptr: Tensor | None = None) -> Tensor:
        """x (batch, ...), one set per row, or packed (total, dim) with `ptr`."""
        if not self.training or self.probability == 0:
            return x
        sets = x.shape[0] if ptr is None else ptr.shape[0] - 1
        kept = torch.empty(sets, device=x.device, dtype=x.dtype).bernoulli_(1 - self.probability)
        kept = kept / (1 - self.probability)
        if ptr is None:
            return x * kept.view(-1, *[1] * (x.dim() - 1))
        return x * kept.repeat_interleave(ptr.diff(), output_size=x.shape[0])[:, None]

    def extra_repr(self) -> str:
        return f"probability={self.probability}"
