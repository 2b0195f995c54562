"""The transformer block TB / STB (Eq. 1 and 5), and what stands in front of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from .attention import create_attention
from .cycles import Cycle
from .feed_forward import FeedForward
from .geometry.sets import segments
from .linear import belongs_to_nobody


class TransformerBlock(nn.Module):
    """TB of Eq. 1 with dense attention, STB of Eq. 5d with sampled attention; any mechanism by name.

        x <- x + Attention(x)
        x <- x + W_2 ReLU(W_1 x)

    Args:
        dim: width of the features.
        heads: number of heads.
        attention: name of the mechanism, see `list_attention`.
        hidden: r, the width of the feed-forward layer; dim if not given.
        norm: LayerNorm before attention and before the feed-forward layer ("pre-norm"); the paper writes none.
        activation: "relu" (the paper) or "gelu".
        dropout: share of the features dropped from what each of the two residual branches adds.
        drop_path: probability, for each set, to skip a residual branch in training.
        bias: whether all linear layers have one; the paper's have none.
        attention_options: further options of the mechanism.
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        attention: str = "sampled",
        *,
        hidden: int | None = None,
        norm: bool = False,
        activation: str = "relu",
        dropout: float = 0.0,
        drop_path: float = 0.0,
        bias: bool = False,
        **attention_options: Any,
    ) -> None:
        super().__init__()
        self.attention = create_attention(attention, dim, heads, bias=bias, **attention_options)
        self.feed_forward = FeedForward(dim, hidden, activation=activation, bias=bias)
        # Without attention there is nothing to normalise, and DDP wants a gradient for every parameter.
        self.attention_norm = nn.LayerNorm(dim) if norm and attention != "none" else nn.Identity()
        self.feed_forward_norm = nn.LayerNorm(dim) if norm else nn.Identity()
        self.dropout = nn.Dropout(dropout)
        self.drop_path = DropPath(drop_path)

    def forward(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Tensor | None = None,
        cycle: Cycle | None = None,
    ) -> Tensor:
        """As `Attention.forward`; what the output holds in the padding means nothing."""
        if mask is not None:  # before the norms and the feed-forward layer, whose gradients a NaN would spoil
            x = x.masked_fill(~mask[..., None], 0)
        attended = self.attention(self.attention_norm(x), positions, mask, ptr, cycle)
        x = add_branch(x, self.drop_path(self.dropout(attended), ptr))
        return add_branch(x, self.drop_path(self.dropout(self.feed_forward(self.feed_forward_norm(x))), ptr))


def add_branch(x: Tensor, branch: Tensor) -> Tensor:
    """x + branch, in the memory of the branch where that is free: a CPU pays more for fresh memory than for the sum."""
    if belongs_to_nobody(branch) and branch.dtype == x.dtype:
        return branch.add_(x)
    return x + branch


class DropPath(nn.Module):
    """Drops the whole of what a residual branch adds to a set, and scales up the rest (stochastic depth)."""

    def __init__(self, probability: float = 0.0) -> None:
        super().__init__()
        if not 0 <= probability < 1:
            raise ValueError(f"drop_path: expected a probability from 0 to below 1, got {probability}")
        self.probability = probability

    def forward(self, x: Tensor, ptr: Tensor | None = None) -> Tensor:
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


class PositionEmbedding(nn.Module):
    """E = W_p P (section 3.2): coordinates (..., 3) -> (..., dim), to be added to the features.

    The paper calls W_p "an MLP layer" and writes one matrix; `hidden` makes it an MLP with ReLU.
    """

    def __init__(self, dim: int, coordinates: int = 3, *, hidden: Sequence[int] = (), bias: bool = False) -> None:
        super().__init__()
        widths = [coordinates, *hidden, dim]
        layers: list[nn.Module] = []
        for one, two in pairwise(widths):
            layers += [nn.Linear(one, two, bias=bias), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, positions: Tensor) -> Tensor:
        return self.layers(positions)


def pool_max(x: Tensor, mask: Tensor | None = None, ptr: Tensor | None = None) -> Tensor:
    """The largest value of every feature in each set, (sets, dim); zero for an empty set."""
    if ptr is not None:
        sets = x.new_zeros(ptr.shape[0] - 1, x.shape[-1])
        index = segments(ptr, x.shape[0])[:, None].expand_as(x)
        return sets.scatter_reduce(0, index, x, "amax", include_self=False)
    if mask is not None:
        pooled = x.masked_fill(~mask[..., None], -torch.inf).amax(1) if x.shape[1] else x.new_zeros(len(x), x.shape[-1])
        return pooled.masked_fill(~mask.any(1, keepdim=True), 0)
    return x.amax(1) if x.shape[1] else x.new_zeros(x.shape[0], x.shape[-1])
