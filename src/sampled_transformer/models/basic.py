"""The basic classification setting (section 5.2): two small MLPs, one attention layer, a max-pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import network_cycle, number_layers
from ..blocks import TransformerBlock, as_block_options
from ..cycles import Cycles
from ..layers.pooling import pool_max
from ..sets import Integers, check_mask, settle_form
from .inputs import check_normals, check_width


class BasicClassifier(nn.Module):
    """One transformer block between two MLPs for positions P and normals N, and a linear layer.

        X = MLP_1(P) + MLP_2(N)                  hidden widths [64, 256]
        X <- Block(X)                            Eq. 1c or 5d with h = 8, d = 32, r = 256
        logits = W BN(max_i X_i) + b

    Section 5.2 and Table 4 of "Sampled Transformer for Point Sets" (https://openreview.net/forum?id=F7f4BYnDAIc). With
    `attention="none"` there is no block: the paper's baseline "MLP + FC (no attention)".

    Args:
        classes: number of classes, or of outputs: 1 to predict a number.
        attention: name of the mechanism, see `list_attention`.
        dim, heads, hidden, depth: width, number of heads, r and number of the blocks.
        embedding: width of the first layer in the two MLPs.
        normals: read normals, too.
        batch_norm: BatchNorm in the two MLPs and before the last layer. The paper writes none; without it, training
            needs a smaller learning rate.
        norm: LayerNorm in the blocks.
        dropout, drop_path: of the blocks.
        attention_options: further options of the mechanism.
        coordinates: coordinates per point, and per normal if there are any. "rotary" also takes it as an option.
    """

    def __init__(
        self,
        classes: int,
        *,
        attention: str = "sampled",
        dim: int = 256,
        heads: int = 8,
        hidden: int = 256,
        depth: int = 1,
        embedding: int = 64,
        normals: bool = True,
        batch_norm: bool = True,
        norm: bool = False,
        dropout: float = 0.0,
        drop_path: float = 0.0,
        attention_options: Mapping[str, Any] | None = None,
        coordinates: int = 3,
    ) -> None:
        super().__init__()
        sizes = {"classes": classes, "depth": depth, "dim": dim, "embedding": embedding, "coordinates": coordinates}
        for name, size in sizes.items():
            if size < 1:
                raise ValueError(f"{name}: expected at least 1, got {size}")
        self.coordinates = coordinates
        self.position_mlp = PointMLP(coordinates, embedding, dim, batch_norm)
        self.normal_mlp = PointMLP(coordinates, embedding, dim, batch_norm) if normals else None
        self.blocks = nn.ModuleList(
            TransformerBlock(
                dim,
                heads,
                attention,
                hidden=hidden,
                norm=norm,
                dropout=dropout,
                drop_path=drop_path,
                **as_block_options(attention_options),
            )
            for _ in range(0 if attention == "none" else depth)
        )
        self.head_norm = nn.BatchNorm1d(dim) if batch_norm else nn.Identity()
        self.head = nn.Linear(dim, classes)
        number_layers(self)

    def forward(
        self,
        points: Tensor,
        normals: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        cycle: Cycles | None = None,
        *,
        batch: Integers | None = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """Logits (sets, classes) of sets in any form, see `Attention.forward`.

        Args:
            points: (batch, n, coordinates), padded with `mask`, packed (total, coordinates) with `ptr` or `batch`, or
                nested.
            normals: as points.
            mask, ptr, batch: how the points fall into sets.
            batch_size: number of sets, where the last ones of `batch` may be empty.
            cycle: for the attention layers.
        """
        (points, normals), ptr = settle_form({"points": points, "normals": normals}, mask, ptr, batch, batch_size)
        logits: Tensor = self.head(self.forward_features(points, normals, mask, ptr, cycle))
        return logits

    def forward_features(
        self,
        points: Tensor,
        normals: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Tensor | None = None,
        cycle: Cycles | None = None,
    ) -> Tensor:
        """What the head reads, BN(max_i X_i), (sets, dim)."""
        _, x = self.forward_points(points, normals, mask, ptr, cycle)
        features: Tensor = self.head_norm(pool_max(x, mask, ptr))
        return features

    def forward_points(
        self,
        points: Tensor,
        normals: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Tensor | None = None,
        cycle: Cycles | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The points, and the features X_i of each of them before pooling, (batch, n, dim) or (total, dim)."""
        check_width(points, self.coordinates, "coordinates")
        if mask is not None:
            check_mask(mask, points.shape[:-1])
        check_normals(normals, points, self.normal_mlp is not None)
        x = self.position_mlp(points, mask)
        if self.normal_mlp is not None and normals is not None:
            x = x + self.normal_mlp(normals, mask)
        cycle = network_cycle((block.attention for block in self.blocks), x, points, mask, ptr, cycle)
        for block in self.blocks:
            x = block(x, points, mask, ptr, cycle)
        return points, x

    @property
    def feature_layers(self) -> list[str]:
        """The modules that give features per point, from the first to the last."""
        return [f"blocks.{number}" for number in range(len(self.blocks))]


class PointMLP(nn.Module):
    """W_2 ReLU(W_1 x) on every point alone, with BatchNorm after each layer if wanted.

    Only real points count in the batch statistics; padding becomes zero.
    """

    def __init__(self, inputs: int, hidden: int, outputs: int, batch_norm: bool) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs)]
        if batch_norm:
            layers.insert(1, nn.BatchNorm1d(hidden))
            layers.append(nn.BatchNorm1d(outputs))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(..., inputs) -> (..., outputs); mask True where a point is real."""
        if mask is None:
            out: Tensor = self.layers(x.flatten(0, -2)).unflatten(0, x.shape[:-1])
            return out
        real = self.layers(x[mask])
        return torch.zeros(*mask.shape, real.shape[-1], dtype=real.dtype, device=x.device).index_put((mask,), real)
