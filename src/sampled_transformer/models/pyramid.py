"""The pyramid: local groups merge neighbours, attention joins what is far apart; not part of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

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

WIDTHS, STRIDES, NEIGHBOURS = (64, 128, 256), (4, 4, 4), (16, 16, 16)
HEAD_DIM = 32


class PyramidClassifier(nn.Module):
    """Stages of fewer points and wider features, each a local merge and then attention across all its points.

        x_i = ReLU(BN(W ReLU(BN(W [p_i, n_i]))))                                            (stem)
        (P_t, X_t) = Stage_t(P_{t-1}, X_{t-1}),    t = 1, ..., stages
        logits = MLP([max_i X_i, mean_i X_i])

    By default it reads positions alone. The merge is that of PointNet++ (https://arxiv.org/abs/1706.02413) with the
    offsets of PointNeXt (https://arxiv.org/abs/2206.04670); attention by name is what it takes from "Sampled
    Transformer for Point Sets" (https://openreview.net/forum?id=F7f4BYnDAIc). The cost is O(n) but for the search of
    farthest points.

    Args:
        classes: number of classes.
        attention: name of the mechanism, see `list_attention`; "none" keeps the feed-forward layers of the blocks.
        widths, strides, neighbours: for every stage, the number of features, of points per kept point, and of points
            per group.
        blocks: transformer blocks per stage: one number for all stages, or one per stage.
        attended: the stages whose blocks have attention, counted from 1 (default: all); the others have "none".
        stem: width of the first features.
        head: width of the hidden layer of the head.
        dropout: of the head.
        normals: read normals as further features.
        gate: let attention begin at zero, see `TransformerBlock`.
        attention_options: further options of the mechanism.
    """

    def __init__(
        self,
        classes: int,
        *,
        attention: str = "none",
        widths: Sequence[int] = WIDTHS,
        strides: Sequence[int] = STRIDES,
        neighbours: Sequence[int] = NEIGHBOURS,
        blocks: int | Sequence[int] = 1,
        attended: Sequence[int] | None = None,
        stem: int = 32,
        head: int = 256,
        dropout: float = 0.5,
        normals: bool = False,
        gate: bool = False,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        stages = len(widths)
        counts = [blocks] * stages if isinstance(blocks, int) else list(blocks)
        sizes = {"widths": widths, "strides": strides, "neighbours": neighbours, "blocks": counts}
        for name, values in sizes.items():
            if len(values) != stages or stages < 1:
                raise ValueError(f"{name}: expected {stages or 'some'} numbers, one per stage, got {len(values)}")
            if min(values) < (0 if name == "blocks" else 1):
                raise ValueError(f"{name}: expected positive numbers, got {tuple(values)}")
        for name, size in {"classes": classes, "stem": stem, "head": head}.items():
            if size < 1:
                raise ValueError(f"{name}: expected at least 1, got {size}")
        chosen = range(1, stages + 1) if attended is None else attended
        if not set(chosen) <= set(range(1, stages + 1)):
            raise ValueError(f"attended: expected stages from 1 to {stages}, got {tuple(chosen)}")
        options = as_block_options(attention_options)
        self.normals, self.keyed_by = normals, settle_keys(None)
        self.stem = nn.Sequential(*_layer(6 if normals else 3, stem), *_layer(stem, stem))
        self.stages = nn.ModuleList()
        for number, (inputs, width) in enumerate(pairwise([stem, *widths])):
            given = {"attention": attention, "gate": gate, **options} if number + 1 in chosen else {"attention": "none"}
            heads = max(1, width // HEAD_DIM)
            layers = [
                TransformerBlock(width, heads, hidden=2 * width, norm=True, **given) for _ in range(counts[number])
            ]
            self.stages.append(Stage(inputs, width, strides[number], neighbours[number], layers))
        self.head = classification_head([2 * widths[-1], head], classes, dropout)
        number_layers(self)

    def forward(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """Logits (batch, classes) of points (batch, n, 3)."""
        logits: Tensor = self.head(self.forward_features(points, normals))
        return logits

    def forward_features(self, points: Tensor, normals: Tensor | None = None) -> Tensor:
        """What the head reads: the largest and the mean value of every feature of the last stage, (batch, 2 width)."""
        x = self.forward_points(points, normals)[1]
        return torch.cat([group_max(x, 1), x.mean(1)], 1)

    def forward_points(self, points: Tensor, normals: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The points that the last stage keeps, (batch, m, 3), and their features, (batch, m, last width)."""
        if not is_plain(points, 3) or points.shape[1] < 1:
            raise ValueError(f"points: expected (batch, n, 3) with at least one point, got {describe(points)}")
        check_normals(normals, points, self.normals)
        if not self.training and self.keyed_by == "points":
            points, *rest = canonical_rows(points) if normals is None else canonical_rows(points, normals)
            normals = rest[0] if rest else None
        x = points if normals is None else torch.cat([points, normals], -1)
        x = self.stem(x.flatten(0, 1)).unflatten(0, points.shape[:2])
        for stage in self.stages:
            points, x = stage(points, x)
        return points, x

    @property
    def feature_layers(self) -> list[str]:
        """The modules that give features per point, from the first to the last."""
        return [f"stages.{number}" for number in range(len(self.stages))]


class Stage(nn.Module):
    """Merge groups, then attend.

        c_1, ..., c_m = farthest points of P,    m = n / stride
        r_i = the distance of the farthest of the k nearest points of c_i
        y_i = ReLU(BN(max_{j in kNN(c_i)} W_2 ReLU(BN(W_1 x_j + W_o (p_j - c_i) / r_i))))
        X' = Block(... Block(Y + W_p C))

    W_1 x_j is computed once per point, not once per group that holds it. The second norm follows the maximum: it has
    k times fewer rows to read there, which is a quarter of the time of a training step.
    """

    def __init__(self, inputs: int, width: int, stride: int, neighbours: int, blocks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.stride, self.neighbours = stride, neighbours
        self.point = nn.Linear(inputs, width, bias=False)
        self.offset = nn.Linear(3, width, bias=False)
        self.first_norm = nn.BatchNorm1d(width)
        self.merge = nn.Linear(width, width, bias=False)
        self.second_norm = nn.BatchNorm1d(width)
        self.embedding = PositionEmbedding(width) if blocks else None
        self.blocks = nn.ModuleList(blocks)

    def forward(self, points: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Points (batch, n, 3) and features (batch, n, inputs) -> (batch, m, 3), (batch, m, width)."""
        centres, y = self.group(points, x)
        if self.embedding is None:
            return centres, y
        y = y + self.embedding(centres)
        cycle = network_cycle((block.attention for block in self.blocks), y, centres)
        for block in self.blocks:
            y = block(y, centres, cycle=cycle)
        return centres, y

    def group(self, points: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """The centres (batch, m, 3) and the merged features of their groups, (batch, m, width)."""
        n = points.shape[1]
        centres = gather_rows(points, farthest_points(points, max(1, n // self.stride)))
        nearest = nearest_members(points, centres, min(self.neighbours, n))
        rows, shape = nearest.flatten(1), nearest.shape[1:]
        offset = gather_rows(points, rows).unflatten(1, shape) - centres.unsqueeze(2)
        squared = offset.square().sum(-1).amax(2)[..., None, None]
        # A group at one place has no radius; the gradient of almost nothing would be infinite.
        apart = squared > torch.finfo(squared.dtype).tiny ** 0.8
        offset = offset / torch.where(apart, squared, 1).sqrt()
        whole = self.training or torch.is_grad_enabled() or torch.compiler.is_compiling() or self._is_watched()
        if whole or x.device.type != "cpu" or len(x) == 0 or torch.is_autocast_enabled("cpu"):
            return centres, self._merged(self.point(x), rows, offset)
        return centres, self._merged_in_evaluation(x, rows, offset)

    def _is_watched(self) -> bool:
        """Whether a hook waits for a layer that `_merged_in_evaluation` does not call."""
        layers = self.point, self.offset, self.first_norm
        return any(layer._forward_hooks or layer._forward_pre_hooks for layer in layers)

    def _merged(self, known: Tensor, rows: Tensor, offset: Tensor) -> Tensor:
        """W_1 x (batch, n, width), rows (batch, m * k) of it and offsets (batch, m, k, 3) -> y, (batch, m, width)."""
        shape = offset.shape[:3]
        y = gather_rows(known, rows).unflatten(1, shape[1:]) + self.offset(offset)
        y = self.merge(self.first_norm(y.flatten(0, 2)).relu()).unflatten(0, shape)
        y = group_max(y, 2)
        merged: Tensor = self.second_norm(y.flatten(0, 1)).relu().unflatten(0, shape[:2])
        return merged

    def _merged_in_evaluation(self, x: Tensor, rows: Tensor, offset: Tensor) -> Tensor:
        """The same from the features x (batch, n, inputs), without the steps that only read and write all neighbours.

        The first norm is a factor and a shift per feature then, which W_1 and W_o take over. We merge one set at a
        time: what its groups hold fits in the cache of a processor, and that of a batch does not.
        """
        norm, (m, k) = self.first_norm, offset.shape[1:3]
        assert norm.running_mean is not None
        assert norm.running_var is not None
        factor = norm.weight * (norm.running_var + norm.eps).rsqrt()
        shift = norm.bias - factor * norm.running_mean
        known = linear(x, factor.unsqueeze(1) * self.point.weight, shift)
        towards = (factor.unsqueeze(1) * self.offset.weight).t().contiguous()
        largest = []
        for own, some, ways in zip(known.unbind(0), rows.unbind(0), offset.flatten(1, 2).unbind(0), strict=True):
            y = own.index_select(0, some).addmm_(ways, towards).relu_()
            largest.append(self.merge(y).view(m, k, -1).amax(1))
        merged: Tensor = self.second_norm(torch.cat(largest)).relu().unflatten(0, (len(x), m))  # hooks keep the norm
        return merged


def _layer(inputs: int, outputs: int) -> list[nn.Module]:
    return [nn.Linear(inputs, outputs, bias=False), nn.BatchNorm1d(outputs), nn.ReLU()]
