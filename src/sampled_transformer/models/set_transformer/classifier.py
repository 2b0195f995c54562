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
        classes: number of classes.
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
        check_width(points, 3)
        check_normals(normals, points, self.normals)
        features = points if normals is None else torch.cat([points, normals], -1)
        pooled = apply_per_set(self.encoder, features, mask, ptr)
        logits: Tensor = self.head(self.dropout(pooled.squeeze(1)))
        return logits
