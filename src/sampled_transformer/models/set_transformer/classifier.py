"""The Set Transformer as a classifier of point clouds (appendix B.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ...blocks import as_block_options
from ...sets import Integers, settle_form
from ..inputs import apply_per_set, check_normals, check_width
from .encoder import SetEncoder


class SetTransformer(nn.Module):
    """Classification in the setting of "Set Transformer" (https://arxiv.org/abs/1810.00825).

        logits = W Dropout(PMA_1(Dropout(ISAB_16(ISAB_16(X)))))

    "Sampled Transformer for Point Sets" (https://openreview.net/forum?id=F7f4BYnDAIc) compares with it in appendix B.3,
    Table 7: the defaults are its "ISAB(16) + PMA", and `attention_options={"reading": "rows"}` gives "ISAB(16) + PMA +
    sampled attention (ours)".

    Args:
        classes: number of classes, or of outputs: 1 to predict a number.
        attention: "induced", or "dense", "sampled" or "sparse" self-attention over the points.
        dim, heads, depth: width, number of heads and number of the blocks.
        normals: read normals as further features of a point; Lee et al. use none.
        dropout: share of the features dropped before and after the pooling.
        attention_options: further options of the blocks.
    """

    def __init__(
        self,
        classes: int,
        *,
        attention: str = "induced",
        dim: int = 256,
        heads: int = 4,
        depth: int = 2,
        normals: bool = False,
        dropout: float = 0.5,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if classes < 1:
            raise ValueError(f"classes: expected at least 1, got {classes}")
        self.normals = normals
        options = as_block_options(attention_options)
        self.encoder = SetEncoder(3 + 3 * normals, dim, heads, depth, 1, attention, dropout=dropout, **options)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(dim, classes)

    def forward(
        self,
        points: Tensor,
        normals: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        *,
        batch: Integers | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Logits (sets, classes) of sets in any form; arguments as in `BasicClassifier.forward`."""
        (points, normals), ptr = settle_form({"points": points, "normals": normals}, mask, ptr, batch, batch_size)
        logits: Tensor = self.head(self.forward_features(points, normals, mask, ptr))
        return logits

    def forward_features(
        self,
        points: Tensor,
        normals: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Tensor | None = None,
    ) -> Tensor:
        """What the head reads, Dropout(PMA(...)), (sets, dim)."""
        pooled: Tensor = self.dropout(apply_per_set(self.encoder, self._join(points, normals), mask, ptr).squeeze(1))
        return pooled

    def forward_points(self, points: Tensor, normals: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The points (batch, n, 3) and their features before pooling, (batch, n, dim), both in the encoder's order."""
        joined, x, _ = self.encoder.encode(self._join(points, normals))
        return joined[..., :3], x

    @property
    def feature_layers(self) -> list[str]:
        """The modules that give features per point, from the first to the last."""
        return [f"encoder.blocks.{number}" for number in range(len(self.encoder.blocks))]

    def _join(self, points: Tensor, normals: Tensor | None) -> Tensor:
        check_width(points, 3)
        check_normals(normals, points, self.normals)
        return points if normals is None else torch.cat([points, normals], -1)
