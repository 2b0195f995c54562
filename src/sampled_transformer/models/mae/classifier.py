"""The classifier made of the autoencoder's encoder (section 5.1, "Classification")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ...attention import number_layers
from ...layers.group_max import group_max
from ...layers.mlp import classification_head
from ...randomness import settle_keys
from ..inputs import check_normals
from ..tokens import Groups, group_points
from .encoder import Encoder, check_groups

POOLINGS = ("max", "cls-max", "max-mean")


class MaskedAutoencoderClassifier(nn.Module):
    """The encoder on all groups, max-pooling, and a fully connected head [256, 256, classes].

        T = Encoder(all groups)
        logits = MLP(max_i T_i)                                           "max"
        logits = MLP([T_class, max_i T_i]), with a class token in T       "cls-max"
        logits = MLP([max_i T_i, mean_i T_i])                             "max-mean"

    Section 5.1 of "Sampled Transformer for Point Sets" (https://openreview.net/forum?id=F7f4BYnDAIc), Tables 1 to 3,
    after Point-MAE (https://arxiv.org/abs/2203.06604).

    Args:
        classes: number of classes, or of outputs: 1 to predict a number.
        pooling: "max", the paper's, "cls-max", Point-MAE's: a class token and the largest values, or "max-mean", what a
            linear probe reads.
        head_width: width of the head's hidden layers.
        head_dropout: dropout after each of them; they also have BatchNorm and ReLU, as in Point-MAE.
        head_depth: number of the hidden layers; with 0, the head is linear, as `probe --out` writes it.
        attention, groups, group_size, dim, heads, hidden, depth, embedding, norm, activation, bias, drop_path,
            normals, attention_options: as in `MaskedAutoencoder`.
    """

    def __init__(
        self,
        classes: int,
        *,
        pooling: str = "max",
        head_width: int = 256,
        head_dropout: float = 0.5,
        head_depth: int = 2,
        attention: str = "sampled",
        groups: int = 64,
        group_size: int = 32,
        dim: int = 256,
        heads: int = 8,
        hidden: int = 256,
        depth: int = 12,
        embedding: int = 128,
        norm: bool = True,
        activation: str = "relu",
        bias: bool = False,
        drop_path: float = 0.0,
        normals: bool = False,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        check_groups(groups, group_size, normals)
        if classes < 1 or head_width < 1:
            raise ValueError(f"classes, head_width: expected at least 1, got {classes} and {head_width}")
        if head_depth < 0:
            raise ValueError(f"head_depth: expected at least 0, got {head_depth}")
        if pooling not in POOLINGS:
            raise ValueError(f"pooling: expected one of {', '.join(POOLINGS)}, got {pooling!r}")
        self.groups, self.group_size, self.pooling = groups, group_size, pooling
        self.keyed_by = settle_keys(None)
        self.encoder = Encoder(
            attention=attention,
            dim=dim,
            heads=heads,
            hidden=hidden,
            depth=depth,
            embedding=embedding,
            norm=norm,
            activation=activation,
            bias=bias,
            drop_path=drop_path,
            attention_options=attention_options,
        )
        if pooling == "cls-max":
            self.class_token = nn.Parameter(nn.init.trunc_normal_(torch.empty(dim), std=0.02))
            self.class_position_token = nn.Parameter(nn.init.trunc_normal_(torch.empty(dim), std=0.02))
        pooled = dim if pooling == "max" else 2 * dim
        self.head = classification_head([pooled, *[head_width] * head_depth], classes, head_dropout)
        number_layers(self)

    def forward(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """Logits (batch, classes) of clouds (batch, n, 3)."""
        logits: Tensor = self.head(self.forward_features(points, normals))
        return logits

    def forward_features(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """What the head reads, (batch, dim) or, if it is more than the largest values, (batch, 2 dim)."""
        _, tokens = self._encode(points, normals)
        if self.pooling == "max":
            return group_max(tokens, 1)
        if self.pooling == "max-mean":
            return torch.cat([group_max(tokens, 1), tokens.mean(1)], 1)
        return torch.cat([tokens[:, 0], group_max(tokens[:, 1:], 1)], 1)

    def forward_points(self, points: Tensor, normals: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The centres of the groups, (batch, groups, 3), and their tokens, (batch, groups, dim)."""
        centres, tokens = self._encode(points, normals)
        return centres, tokens[:, -self.groups :]

    @property
    def in_any_order(self) -> bool:
        """Whether groups do not depend on the order of the points: in evaluation, unless `key_by` says "places"."""
        return not self.training and self.keyed_by == "points"

    @property
    def feature_layers(self) -> list[str]:
        """The modules that give features per group, from the first to the last."""
        return [f"encoder.{name}" for name in self.encoder.feature_layers]

    def _encode(self, points: Tensor, normals: Tensor | None) -> tuple[Tensor, Tensor]:
        check_normals(normals, points, wanted=False)
        groups = group_points(points, self.groups, self.group_size, self.in_any_order)
        with_token = self.pooling == "cls-max"
        return groups.centres, self._encode_with_class_token(groups) if with_token else self.encoder(groups)

    def _encode_with_class_token(self, groups: Groups) -> Tensor:
        """Tokens (batch, 1 + groups, dim), the class token first; its position is the origin."""
        first = self.class_token.expand(len(groups.centres), 1, -1)
        where = self.class_position_token.expand(len(groups.centres), 1, -1)
        tokens = torch.cat([first, self.encoder.embedding(groups.points)], 1)
        embedded = torch.cat([where, self.encoder.position(groups.centres)], 1)
        origin = groups.centres.new_zeros(len(groups.centres), 1, 3)
        out: Tensor = self.encoder.stack(tokens, embedded, torch.cat([origin, groups.centres], 1))
        return out
