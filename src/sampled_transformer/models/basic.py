"""The basic classification setting (section 5.2): one attention layer between two small MLPs and a max-pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import number_layers
from ..blocks import TransformerBlock
from ..cycles import Cycle
from ..layers.pooling import pool_max


class BasicClassifier(nn.Module):
    """Positions and normals through an MLP [64, 256] each, summed, one block (h=8, d=32, r=256), max-pool, FC.

    With `attention="none"` there is no block at all: the paper's baseline "MLP + FC".

    Args:
        classes: number of classes.
        attention: name of the mechanism.
        dim, heads, hidden, depth: width, heads, r and number of the blocks.
        embedding: width of the first layer of the two MLPs.
        normals: whether normals are given.
        batch_norm: BatchNorm in the two MLPs and before the last layer. The paper writes none; without it the training
            recipe has to be gentler.
        norm: LayerNorm in the blocks.
        dropout, drop_path: of the blocks.
        attention_options: further options of the mechanism.
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
    ) -> None:
        super().__init__()
        if classes < 1 or depth < 1:
            raise ValueError(f"classes, depth: expected at least 1, got {classes} and {depth}")
        self.position_mlp = PointMLP(3, embedding, dim, batch_norm)
        self.normal_mlp = PointMLP(3, embedding, dim, batch_norm) if normals else None
        self.blocks = nn.ModuleList(
            TransformerBlock(
                dim,
                heads,
                attention,
                hidden=hidden,
                norm=norm,
                dropout=dropout,
                drop_path=drop_path,
                **(attention_options or {}),
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
        ptr: Tensor | None = None,
        cycle: Cycle | None = None,
    ) -> Tensor:
        """Logits (sets, classes) of points (batch, n, 3), padded with `mask`, or packed (total, 3) with `ptr`."""
        if (normals is None) != (self.normal_mlp is None):
            expected = "none, as the network was built without" if self.normal_mlp is None else "those of the points"
            raise ValueError(f"normals: expected {expected}")
        x = self.position_mlp(points, mask)
        if self.normal_mlp is not None and normals is not None:
            x = x + self.normal_mlp(normals, mask)
        for block in self.blocks:
            x = block(x, points, mask, ptr, cycle)
        return self.head(self.head_norm(pool_max(x, mask, ptr)))


class PointMLP(nn.Module):
    """Two linear layers on every point alone; batch statistics are those of real points."""

    def __init__(self, inputs: int, hidden: int, outputs: int, batch_norm: bool) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs)]
        if batch_norm:
            layers.insert(1, nn.BatchNorm1d(hidden))
            layers.append(nn.BatchNorm1d(outputs))
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None:
            return self.layers(x.flatten(0, -2)).unflatten(0, x.shape[:-1])
        real = self.layers(x[mask])
        return torch.zeros(*mask.shape, real.shape[-1], dtype=real.dtype, device=x.device).index_put((mask,), real)
