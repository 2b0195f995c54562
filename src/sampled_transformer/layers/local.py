"""Layers that merge a point with its nearest neighbours, and bring features from level to level."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm

from ..geometry.neighbourhoods import Level, Step
from .feed_forward import is_hooked
from .group_max import group_max
from .neighbour_max import neighbour_max

OFFSET = 4  # numbers that describe the way to a neighbour
PAIRED = 7  # with the normals of both
CHUNK = 1 << 14  # rows at a time in evaluation: they stay in the cache from layer to layer, and memory stays flat


class PointNorm(nn.BatchNorm1d):
    """BatchNorm over points. A coarse level may have a single one, which is normed as in evaluation."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and len(x) < 2:
            return batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)
        return super().forward(x)


class LocalMerge(nn.Module):
    """What a point makes of its neighbours.

        y_i = ReLU(BN(W_s x_i + max_{j in kNN(i)} (W_1 x_j + W_o o_ij)))                             (shallow)
        y_i = ReLU(BN(max_{j in kNN(i)} W_2 ReLU(BN(W_s x_i + W_1 x_j + W_o o_ij))))                 (deep)

    o_ij is the way from i to j in units of the distance to the farthest neighbour, how crowded it is there, and how the
    normals of both lie if they are known (`Level.offsets`). The merge is that of PointNet++
    (https://arxiv.org/abs/1706.02413) with the offsets of PointNeXt (https://arxiv.org/abs/2206.04670). W_1 x_j is
    computed once per point, not once per neighbour, and the last norm follows the maximum, where it has k times fewer
    rows to read.

    Args:
        inputs: width of the features.
        width: width of the result.
        deep: two layers per neighbour instead of one, at several times the cost.
        offset: numbers that describe the way to a neighbour, OFFSET or PAIRED.
    """

    def __init__(self, inputs: int, width: int, deep: bool = False, offset: int = OFFSET) -> None:
        super().__init__()
        self.point = nn.Linear(inputs, width, bias=False)
        self.own = nn.Linear(inputs, width, bias=False)
        self.offset = nn.Linear(offset, width, bias=False)
        self.deep = nn.Sequential(PointNorm(width), nn.ReLU(), nn.Linear(width, width, bias=False)) if deep else None
        self.norm = PointNorm(width)

    def forward(self, x: Tensor, level: Level, rows: Tensor | None = None) -> Tensor:
        """Features (m, inputs) of all points of a level -> (m, width), or (rows, width) for some of its points."""
        points: Tensor = self.point(x)

        def merged(some: slice) -> Tensor:
            which = some if rows is None else rows[some]
            own, neighbours = self.own(x[which]), level.neighbours[which]
            offsets = level.all_offsets if self.training and rows is None else level.offsets(which)
            if self.deep is None:
                # In float32; a network in half precision goes on in its own type.
                found = neighbour_max(points, self.offset.weight, neighbours, offsets)
                best = found.to(self.norm.weight.dtype) + own
            else:
                y = points.index_select(0, neighbours.flatten()).unflatten(0, neighbours.shape)
                y = y + (self.offset(offsets.to(x.dtype)) + own.unsqueeze(1))
                candidates = self.deep(y.flatten(0, 1)).unflatten(0, neighbours.shape)
                best = group_max(candidates, 1)
            merges: Tensor = self.norm(best)
            return merges.relu()

        rows_per_point = 1 if self.deep is None else level.neighbours.shape[1]
        return in_chunks(merged, self, len(x if rows is None else rows), rows_per_point)


class LocalBlock(nn.Module):
    """x <- ReLU(x + BN(W_2 ReLU(BN(W_1 LocalMerge(x))))), the inverted bottleneck of PointNeXt.

    Args:
        width: width of the features.
        expansion: how many times as wide the hidden layer is.
        deep, offset: of `LocalMerge`.
    """

    def __init__(self, width: int, expansion: int = 2, deep: bool = False, offset: int = OFFSET) -> None:
        super().__init__()
        self.merge = LocalMerge(width, width, deep, offset)
        self.expand = nn.Linear(width, expansion * width, bias=False)
        self.expand_norm = PointNorm(expansion * width)
        self.contract = nn.Linear(expansion * width, width, bias=False)
        self.contract_norm = PointNorm(width)

    def forward(self, x: Tensor, level: Level) -> Tensor:
        """Features (m, width) of all points of a level -> the same shape."""
        merges: Tensor = self.merge(x, level)

        def added(some: slice) -> Tensor:
            y = self.expand_norm(self.expand(merges[some])).relu()
            both: Tensor = x[some] + self.contract_norm(self.contract(y))
            return both.relu_()

        return in_chunks(added, self, len(x))


class Interpolate(nn.Module):
    """x_i <- ReLU(BN(W [x_i, sum_c share_ic y_c])), c over the cells of the point and its nearest neighbours.

    Args:
        fine, coarse: widths of the features x of the finer level and y of the coarser one. The result is as wide as x.
    """

    def __init__(self, fine: int, coarse: int) -> None:
        super().__init__()
        self.fine = nn.Linear(fine, fine, bias=False)
        self.coarse = nn.Linear(coarse, fine, bias=False)
        self.norm = PointNorm(fine)

    def forward(self, x: Tensor, y: Tensor, step: Step) -> Tensor:
        """Features (m, fine) and (m', coarse) -> (m, fine)."""
        # Before it is spread over more points: the sum of what a matrix makes is the same.
        coarse: Tensor = self.coarse(y)

        def spread(some: slice) -> Tensor:
            cells = step.cells[some]
            found = coarse.index_select(0, cells.flatten()).view(*cells.shape, coarse.shape[1])
            both = self.fine(x[some]) + (found * step.shares[some].to(coarse.dtype).unsqueeze(2)).sum(1)
            normed: Tensor = self.norm(both)
            return normed.relu()

        return in_chunks(spread, self, len(x))


def in_chunks(function: Callable[[slice], Tensor], layer: nn.Module, total: int, rows_per_point: int = 1) -> Tensor:
    """function(all points), computed a chunk of points at a time in evaluation.

    A CPU pays more for writing a layer's results into memory and reading them again than for the arithmetic. A layer
    that trains, through which gradients flow or that a hook watches sees all points at once.

    Args:
        function: Points to features, by layers inside `layer` that treat every point by itself.
        layer: What has these layers.
        total: Number of points.
        rows_per_point: Rows of the results inside `function` per point.
    """
    size = max(1, CHUNK // rows_per_point)
    if layer.training or torch.is_grad_enabled() or total <= size or any(map(is_hooked, layer.modules())):
        return function(slice(0, total))
    first = function(slice(0, size))
    result = first.new_empty(total, *first.shape[1:])
    result[:size] = first
    for begin in range(size, total, size):
        some = slice(begin, min(begin + size, total))
        result[some] = function(some)
    return result
