"""The hierarchical network (section 5.3), after Point Transformer: fewer points and wider features at every stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import network_cycle, number_layers
from ..blocks import TransformerBlock, as_block_options
from ..geometry import farthest_points
from ..geometry.gather import gather_rows
from ..geometry.members import nearest_members
from ..layers.embedding import PositionEmbedding
from ..layers.group_max import group_max
from ..layers.mlp import classification_head
from ..randomness import settle_keys
from ..sets import describe
from .inputs import canonical_rows, check_normals, is_plain

# The paper's sizes, one per stage.
WIDTHS, NEIGHBOURS, STRIDES, BLOCKS = (32, 64, 128, 256, 512), (8, 16, 16, 16, 16), (4, 4, 4, 4, 4), (2, 3, 4, 6, 3)
# Point Transformer's own. It counts the step from stage to stage as a block; these numbers do not.
PARENT_STRIDES, PARENT_BLOCKS = (1, 4, 4, 4, 4), (1, 2, 3, 5, 2)
HEAD_DIM = 32
HEAD_WIDTHS = (256, 128)  # hidden layers of the head


class HierarchicalClassifier(nn.Module):
    """Stages that keep fewer and fewer points, mean pooling over the last stage, and a fully connected head.

        (P_t, X_t) = Stage_t(P_{t-1}, X_{t-1}),    t = 1, ..., stages
        logits = MLP(mean_i X_i)

    Section 5.3 and Table 5 of "Sampled Transformer for Point Sets" (https://openreview.net/forum?id=F7f4BYnDAIc), after
    "Point Transformer" (https://arxiv.org/abs/2012.09164). The default sizes are the former's. Their strides leave one
    of 1,024 points at the fifth stage; `PARENT_STRIDES` leave four.

    In training, farthest points begin at the first point of the list. In evaluation the points are put into an order of
    their own first, so that the given one does not matter; see `key_by` for how our published figures were measured.

    Args:
        classes: number of classes, or of outputs: 1 to predict a number.
        attention: name of the mechanism; "knn" reads as many neighbours as the groups of its stage have points.
        stages: number of stages, t in the paper; only the first `stages` entries of the next four options are used.
        widths, neighbours, strides, blocks: for every stage, the number of features, of points per group, of points
            per kept point, and of blocks.
        normals: read normals as further features.
        hidden: r of the blocks, as a multiple of the width.
        norm: LayerNorm in the blocks. The paper writes none.
        positions: add the position embedding E = W_p P of section 3.2 to the input of every stage's blocks. Without it
            sampled attention does not see where the points lie.
        dropout: dropout in the head.
        attention_options: further options of the mechanism, such as {"vector": True} for "knn".
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
        positions: bool = True,
        dropout: float = 0.5,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if classes < 1:
            raise ValueError(f"classes: expected at least 1, got {classes}")
        sizes = {"widths": widths, "neighbours": neighbours, "strides": strides, "blocks": blocks}
        for name, values in sizes.items():
            if not 1 <= stages <= len(values):
                raise ValueError(f"stages: expected 1 to {len(values)}, the number of {name}, got {stages}")
            least = 0 if name == "blocks" else 1
            if min(values[:stages]) < least:
                raise ValueError(f"{name}: expected at least {least} per stage, got {tuple(values)}")
        self.normals, self.keyed_by = normals, settle_keys(None)
        self.stages = nn.ModuleList()
        for stage, (inputs, width) in enumerate(pairwise([6 if normals else 3, *widths[:stages]])):
            options = as_block_options(attention_options)
            if attention == "knn":
                options.setdefault("k", neighbours[stage])
            layers = [
                TransformerBlock(
                    width, max(1, width // HEAD_DIM), attention, hidden=hidden * width, norm=norm, **options
                )
                for _ in range(blocks[stage])
            ]
            self.stages.append(Stage(inputs, width, neighbours[stage], strides[stage], layers, positions))
        self.head = classification_head([widths[stages - 1], *HEAD_WIDTHS], classes, dropout)
        number_layers(self)

    def forward(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """Logits (batch, classes) of points (batch, n, 3)."""
        logits: Tensor = self.head(self.forward_features(points, normals))
        return logits

    def forward_features(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """What the head reads, mean_i X_i over the last stage, (batch, last width)."""
        return self.forward_points(points, normals)[1].mean(1)

    def forward_points(self, points: Tensor, normals: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The points that the last stage keeps, (batch, m, 3), and their features, (batch, m, last width)."""
        if not is_plain(points, 3) or points.shape[1] < 1:
            raise ValueError(f"points: expected (batch, n, 3) with at least one point, got {describe(points)}")
        check_normals(normals, points, self.normals)
        if not self.training and self.keyed_by == "points":
            points, *rest = canonical_rows(points) if normals is None else canonical_rows(points, normals)
            normals = rest[0] if rest else None
        x = points if normals is None else torch.cat([points, normals], -1)
        for stage in self.stages:
            points, x = stage(points, x)
        return points, x

    @property
    def feature_layers(self) -> list[str]:
        """The modules that give features per kept point, from the first to the last."""
        return [f"stages.{number}" for number in range(len(self.stages))]


class Stage(nn.Module):
    """One hierarchical layer: group, merge, attend.

        c_1, ..., c_m = farthest points of P,    m = n / stride
        y_i = max_{j in kNN(c_i)} ReLU(BN(W [p_j - c_i, x_j]))
        X' = Block(... Block(Y + W_p C))

    With a stride of 1 all points stay, nothing is grouped, and y_i = ReLU(BN(W x_i)). E = W_p C is the position
    embedding of section 3.2, in which every input of a block has its part.

    Args:
        inputs, width: number of features before and after.
        neighbours: points per group.
        stride: points per kept point.
        blocks: the transformer blocks of the stage.
        positions: add E.
    """

    def __init__(
        self,
        inputs: int,
        width: int,
        neighbours: int,
        stride: int,
        blocks: Sequence[nn.Module],
        positions: bool = True,
    ) -> None:
        super().__init__()
        self.neighbours, self.stride = neighbours, stride
        self.merge = nn.Linear(inputs if stride == 1 else inputs + 3, width, bias=False)
        self.norm = nn.BatchNorm1d(width)
        self.embedding = PositionEmbedding(width) if positions else None
        self.blocks = nn.ModuleList(blocks)

    def forward(self, points: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Points (batch, n, 3) and features (batch, n, inputs) -> (batch, m, 3), (batch, m, width)."""
        if self.stride > 1:
            points, x = self.group(points, x)
        x = self.norm(self.merge(x).flatten(0, -2)).unflatten(0, x.shape[:-1]).relu()
        if self.stride > 1:
            x = group_max(x, 2)
        if self.embedding is not None:
            x = x + self.embedding(points)
        cycle = network_cycle((block.attention for block in self.blocks), x, points)
        for block in self.blocks:
            x = block(x, points, cycle=cycle)
        return points, x

    def group(self, points: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Centres (batch, m, 3), and the features [p_j - c_i, x_j] of their neighbours, (batch, m, k, 3 + inputs)."""
        n = points.shape[1]
        centres = gather_rows(points, farthest_points(points, max(1, n // self.stride)))
        nearest = nearest_members(points, centres, min(self.neighbours, n))
        rows, shape = nearest.flatten(1), nearest.shape[1:]
        offset = gather_rows(points, rows).unflatten(1, shape) - centres.unsqueeze(2)
        return centres, torch.cat([offset, gather_rows(x, rows).unflatten(1, shape)], -1)
