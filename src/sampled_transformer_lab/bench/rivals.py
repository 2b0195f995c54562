"""What we measure attention against, besides the mechanisms of the registry."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from sampled_transformer.attention.base import Attention
from sampled_transformer.cycles import Cycle, Cycles
from sampled_transformer.sets import Sets

FLEX_BLOCK = 128  # points per block of FlexAttention's mask


class ExplicitAttention(Attention):
    """Dense attention (Eq. 1a) that builds the n x n matrix, as implementations did when the paper was written."""

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        query, key, value = (x.transpose(1, 2) for x in (query, key, value))
        return ((self.scale * query @ key.transpose(2, 3)).softmax(-1) @ value).transpose(1, 2)


class FlexAttention(Attention):
    """Sampled attention through torch's FlexAttention.

    The points are sorted in the order of the cycle, so that the pattern of Eq. 4 becomes a band. FlexAttention has no
    backward pass on CPUs.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        from torch.nn.attention.flex_attention import flex_attention

        self.compiled: Any = torch.compile(flex_attention)
        self.band: dict[int, Any] = {}

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        n = query.shape[1]
        order = Cycle.sample(n, device=query.device).order[0]
        if n not in self.band:
            self.band[n] = _band(n, query.device)
        query, key, value = (x.index_select(1, order).transpose(1, 2).contiguous() for x in (query, key, value))
        out = self.compiled(query, key, value, block_mask=self.band[n], scale=self.scale)
        out = out.transpose(1, 2)
        return torch.empty_like(out).index_copy_(1, order, out)


def _band(n: int, device: torch.device) -> Any:
    """The pattern of Eq. 4 as a block mask, for points in the order of the cycle."""
    from torch.nn.attention.flex_attention import BlockMask

    blocks = -(-n // FLEX_BLOCK)
    own = torch.arange(blocks, device=device, dtype=torch.int32)
    index = torch.zeros(1, 1, blocks, blocks, device=device, dtype=torch.int32)
    index[..., 0] = own
    if blocks > 1:
        index[..., 1] = (own + 1) % blocks
    count = torch.full((1, 1, blocks), min(blocks, 2), device=device, dtype=torch.int32)
    return BlockMask.from_kv_blocks(
        count,
        index,
        BLOCK_SIZE=FLEX_BLOCK,
        mask_mod=lambda batch, head, row, column: (row == column) | ((row + 1) % n == column),
        seq_lengths=(n, n),
    )


class Products(nn.Module):
    """Only the matrix products of a layer or a block: a lower bound for every mechanism with projections."""

    def __init__(self, dim: int, count: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim, bias=False) for _ in range(count))

    def forward(self, x: Tensor, positions: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x
