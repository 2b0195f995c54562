"""The networks behind the estimators: an MLP on every row, transformer blocks, pooling, a head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import Attention, network_cycle, number_layers
from ..blocks import TransformerBlock
from ..layers.pooling import pool_max
from ..sets import segments


class SetNetwork(nn.Module):
    """From packed rows to one row of outputs per set. Sets that are packed together do not influence each other.

        X = W_2 GELU(W_1 x + b_1) + b_2,   X <- Block(X) `depth` times,   X <- LayerNorm(X)
        pooled = [mean_i X_i, max_i X_i, std_i X_i, log size]
        outputs = W_4 Dropout(GELU(W_3 LayerNorm(pooled)))

    There is no BatchNorm: statistics of a few small sets are noise. There is no dropout in the blocks, where it would
    be noise under the maximum.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        *,
        dim: int,
        depth: int,
        heads: int,
        attention: str,
        dropout: float,
        attention_options: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self.embedding = nn.Sequential(nn.Linear(inputs, dim), nn.GELU(), nn.Linear(dim, dim))
        self.blocks = nn.ModuleList(
            TransformerBlock(
                dim,
                heads,
                attention,
                hidden=2 * dim,
                norm=True,
                activation="gelu",
                bias=True,
                **attention_options,
            )
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(dim)
        self.pooled_norm = nn.LayerNorm(3 * dim)
        self.head = nn.Sequential(nn.Linear(3 * dim + 1, dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(dim, outputs))
        number_layers(self)

    @property
    def needs_positions(self) -> bool:
        """Whether a mechanism looks at positions."""
        return any(one.needs_positions for one in self.modules() if isinstance(one, Attention))

    def forward(self, rows: Tensor, ptr: Tensor, sizes: Tensor, positions: Tensor | None = None) -> Tensor:
        """rows (total, inputs), ptr (sets + 1,), sizes (sets, 1) -> (sets, outputs)."""
        outputs: Tensor = self.head(self.pool(rows, ptr, sizes, positions))
        return outputs

    def pool(self, rows: Tensor, ptr: Tensor, sizes: Tensor, positions: Tensor | None = None) -> Tensor:
        """What the head reads, (sets, 3 dim + 1)."""
        x = self.embedding(rows)
        cycle = network_cycle((block.attention for block in self.blocks), x, positions, None, ptr, None)
        for block in self.blocks:
            x = block(x, positions, ptr=ptr, cycle=cycle)
        x = self.norm(x)
        mean, std = pool_moments(x, ptr)
        return torch.cat([self.pooled_norm(torch.cat([mean, pool_max(x, ptr=ptr), std], 1)), sizes], 1)


class SetEnsemble(nn.Module):
    """Networks side by side, one per mechanism. They share nothing, so that their mistakes differ."""

    def __init__(
        self, *args: int, attention: Sequence[str], attention_options: Sequence[Mapping[str, Any]], **options: Any
    ) -> None:
        super().__init__()
        self.members = nn.ModuleList(
            SetNetwork(*args, attention=name, attention_options=its, **options)
            for name, its in zip(attention, attention_options, strict=True)
        )
        number_layers(self)

    @property
    def needs_positions(self) -> bool:
        """Whether a mechanism looks at positions."""
        return any(member.needs_positions for member in self.members)

    def forward(self, *inputs: Tensor | None) -> Tensor:
        """As `SetNetwork.forward`, for each member: (members, sets, outputs)."""
        return torch.stack([member(*inputs) for member in self.members])

    def pool(self, *inputs: Tensor | None) -> Tensor:
        """What the heads read, side by side, (1, sets, members (3 dim + 1))."""
        members: Any = self.members  # torch types its members as plain modules
        return torch.cat([member.pool(*inputs) for member in members], 1)[None]


def pool_moments(x: Tensor, ptr: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the standard deviation of every feature in each packed set, (sets, dim); about 0 if it is empty."""
    index = segments(ptr, x.shape[0])
    counts = ptr.diff().clamp(min=1)[:, None]
    zeros = x.new_zeros(ptr.shape[0] - 1, x.shape[-1])
    mean = zeros.index_add(0, index, x) / counts
    variance = zeros.index_add(0, index, (x - mean[index]).square()) / counts
    return mean, (variance + 1e-6).sqrt()
