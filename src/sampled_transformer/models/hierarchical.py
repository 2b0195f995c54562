"""The hierarchical network (section 5.3), after Point Transformer (Zhao et al. 2021): fewer points at every stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import number_layers
from ..blocks import TransformerBlock
from ..geometry import farthest_points, nearest_neighbours
from .tokens import take

WIDTHS, NEIGHBOURS, STRIDES, BLOCKS = (32, 64, 128, 256, 512), (8, 16, 16, 16, 16), (4, 4, 4, 4, 4), (2, 3, 4, 6, 3)
PARENT_STRIDES, PARENT_BLOCKS = (1, 4, 4, 4, 4), (1, 2, 3, 5, 2)  # whose counts include the step from stage to stage
HEAD_DIM = 32


class HierarchicalClassifier(nn.Module):
    """Stages of farthest points, groups of neighbours merged by a max-pooled MLP, and blocks; then the mean.

    Sizes are the paper's. Its strides leave one point of 1,024 at the fifth stage; `PARENT_STRIDES` leave four.

    Args:
        classes: number of classes.
        attention: name of the mechanism; "knn" has as many neighbours as the groups of its stage.
        stages: t of the paper's table: only the first of the following are used.
        widths, neighbours, strides, blocks: features, points of a group, points for each that is kept, and blocks of
            every stage.
        normals: whether normals are given, as features besides the coordinates.
        hidden: r of the blocks, as a multiple of the width.
        norm: LayerNorm in the blocks. The paper writes none.
        dropout: in the head.
        attention_options: further options of the mechanism, such as {"vector": True} of "knn".
    """

    def __init__(
        self,
        classes: int,
        *,
        attention: str = "sampled",
        stages: int = 5,
        widths: Sequence[int] = WIDTHS,
        neighbours: Sequence[int] = NEIGHBOURS,
        strides: Sequence[int] = STRIDES,
        blocks: Sequence[int] = BLOCKS,
        normals: bool = True,
        hidden: int = 1,
        norm: bool = True,
        dropout: float = 0.5,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if classes < 1:
            raise ValueError(f"classes: expected at least 1, got {classes}")
        sizes = {"widths": widths, "neighbours": neighbours, "strides": strides, "blocks": blocks}
        for name, values in sizes.items():
            if not 1 <= stages <= len(values):
                raise ValueError(f"stages: expected 1 to {len(values)}, as {name} tells, got {stages}")
            if min(values[:stages]) < (0 if name == "blocks" else 1):
                raise ValueError(f"{name}: expected positive numbers, got {tuple(values)}")
        self.normals = normals
        self.stages = nn.ModuleList()
        for stage, (inputs, width) in enumerate(pairwise([6 if normals else 3, *widths[:stages]])):
            options = {**(attention_options or {})}
            if attention == "knn":
                options.setdefault("k", neighbours[stage])
            layers = [
                TransformerBlock(
                    width, max(1, width // HEAD_DIM), attention, hidden=hidden * width, norm=norm, **options
                )
                for _ in range(blocks[stage])
            ]
            self.stages.append(Stage(inputs, width, neighbours[stage], strides[stage], layers))
        self.head = nn.Sequential(
            *_dense(widths[stages - 1], 256, dropout), *_dense(256, 128, dropout), nn.Linear(128, classes)
        )
        number_layers(self)

    def forward(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """Logits (batch, classes) of points (batch, n, 3)."""
        if points.dim() != 3 or points.shape[1] < 1 or points.shape[2] != 3:
            raise ValueError(f"points: expected (batch, n, 3) with at least one point, got {tuple(points.shape)}")
        if (normals is None) == self.normals:
            expected = "those of the points" if self.normals else "none, as the network was built without"
            raise ValueError(f"normals: expected {expected}")
        if normals is not None and normals.shape != points.shape:
            raise ValueError(
                f"normals: expected the shape of the points {tuple(points.shape)}, got {tuple(normals.shape)}"
            )
        x = points if normals is None else torch.cat([points, normals], -1)
        for stage in self.stages:
            points, x = stage(points, x)
        return self.head(x.mean(1))


class Stage(nn.Module):
    """One hierarchical layer: with a stride of 1 all points stay, and nothing is grouped."""

    def __init__(self, inputs: int, width: int, neighbours: int, stride: int, blocks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.neighbours, self.stride = neighbours, stride
        self.merge = nn.Linear(inputs if stride == 1 else inputs + 3, width, bias=False)
        self.norm = nn.BatchNorm1d(width)
        self.blocks = nn.ModuleList(blocks)

    def forward(self, points: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Points (batch, n, 3) and features (batch, n, inputs) -> (batch, m, 3), (batch, m, width)."""
        if self.stride > 1:
            points, x = self.group(points, x)
        x = self.norm(self.merge(x).flatten(0, -2)).unflatten(0, x.shape[:-1]).relu()
        if self.stride > 1:
            x = x.amax(2)
        for block in self.blocks:
            x = block(x, points)
        return points, x

    def group(self, points: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Farthest points, and the features of each one's neighbours with their offsets, (batch, m, k, inputs + 3)."""
        n = points.shape[1]
        centres = take(points, farthest_points(points, max(1, n // self.stride)))
        nearest, _ = nearest_neighbours(points, min(self.neighbours, n), queries=centres)
        rows, shape = nearest.flatten(1), nearest.shape[1:]
        offset = take(points, rows).unflatten(1, shape) - centres.unsqueeze(2)
        return centres, torch.cat([offset, take(x, rows).unflatten(1, shape)], -1)


def _dense(inputs: int, outputs: int, dropout: float) -> list[nn.Module]:
    return [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU(), nn.Dropout(dropout)]
