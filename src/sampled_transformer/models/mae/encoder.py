"""The encoder that the masked autoencoder and its classifier share: groups to tokens, tokens through blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from ...attention import network_cycle
from ...blocks import TransformerBlock, as_block_options
from ..tokens import GroupEmbedding, Groups


class Stack(nn.Module):
    """Transformer blocks (Eq. 1c or 5d) with the position embedding E added before each of them, as in Point-MAE.

        x <- Block_i(x + E),    i = 1, ..., depth;    Stack(x) = LayerNorm(x)

    Args:
        depth: number of blocks.
        dim: width of the tokens.
        drop_path: probability in the last block; it rises linearly from 0.
        norm: LayerNorm in the blocks and after the last.
        options: further options of the blocks.
    """

    def __init__(self, depth: int, dim: int, *, drop_path: float = 0.0, norm: bool = True, **options: Any) -> None:
        super().__init__()
        if depth < 1:
            raise ValueError(f"depth, decoder_depth: expected at least 1, got {depth}")
        self.blocks = nn.ModuleList(
            TransformerBlock(dim, norm=norm, drop_path=drop_path * number / max(1, depth - 1), **options)
            for number in range(depth)
        )
        self.norm = nn.LayerNorm(dim) if norm else nn.Identity()

    def forward(self, x: Tensor, embedded: Tensor, positions: Tensor) -> Tensor:
        """Tokens (batch, n, dim) with embedded positions (batch, n, dim) and positions (batch, n, 3)."""
        cycle = network_cycle((block.attention for block in self.blocks), x, positions)
        for block in self.blocks:
            x = block(x + embedded, positions, cycle=cycle)
        out: Tensor = self.norm(x)
        return out


class CentreEmbedding(nn.Sequential):
    """The position embedding of a group with centre c: E = W_2 GELU(W_1 c), 3-128-dim, as in Point-MAE."""

    def __init__(self, dim: int, hidden: int = 128) -> None:
        super().__init__(nn.Linear(3, hidden), nn.GELU(), nn.Linear(hidden, dim))


class Encoder(nn.Module):
    """Groups to tokens, and tokens through the blocks: Stack(GroupEmbedding(points), CentreEmbedding(centres)).

    Attention sees the given groups and no others. `shape` holds every option that another encoder must share for its
    weights to have the same meaning here. The mechanism is not among them: dense, sparse, knn, stratified and sampled
    attention share their parameters.

    Args:
        attention, dim, heads, hidden, depth, embedding, norm, activation, bias, drop_path, attention_options: as in
            `MaskedAutoencoder`.
    """

    FIXED = ("dim", "heads", "hidden", "depth", "embedding", "norm", "activation", "bias")

    def __init__(
        self,
        *,
        attention: str,
        dim: int,
        heads: int,
        hidden: int,
        depth: int,
        embedding: int,
        norm: bool,
        activation: str,
        bias: bool,
        drop_path: float,
        attention_options: Mapping[str, Any] | None,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.shape = dict(zip(self.FIXED, (dim, heads, hidden, depth, embedding, norm, activation, bias), strict=True))
        self.embedding = GroupEmbedding(dim, embedding)
        self.position = CentreEmbedding(dim)
        self.stack = Stack(
            depth,
            dim,
            heads=heads,
            attention=attention,
            hidden=hidden,
            norm=norm,
            activation=activation,
            bias=bias,
            drop_path=drop_path,
            **as_block_options(attention_options),
        )

    def forward(self, groups: Groups) -> Tensor:
        """Tokens (batch, groups, dim)."""
        tokens: Tensor = self.stack(self.embedding(groups.points), self.position(groups.centres), groups.centres)
        return tokens

    @property
    def feature_layers(self) -> list[str]:
        """The modules that give features per group, from the first to the last."""
        return ["embedding", *(f"stack.blocks.{number}" for number in range(len(self.stack.blocks)))]


def check_groups(groups: int, group_size: int, normals: bool) -> None:
    """Refuse options that no network of groups can have."""
    if groups < 1 or group_size < 1:
        raise ValueError(f"groups, group_size: expected at least 1, got {groups} and {group_size}")
    if normals:
        raise ValueError("normals: expected False, as tokens are made of positions alone, got True")
