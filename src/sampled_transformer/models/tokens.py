"""Clouds as tokens (section 5.1): groups of neighbouring points, and their embedding."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..geometry import farthest_points
from ..geometry.gather import gather_rows
from ..geometry.members import nearest_members
from ..layers.group_max import group_max
from ..layers.sparse_gradient import Linear
from ..sets import describe
from .inputs import canonical_rows, is_plain


class Groups(NamedTuple):
    """Neighbourhoods in a batch of clouds. The position of a group's token is its centre."""

    centres: Tensor  # (batch, groups, 3)
    points: Tensor  # (batch, groups, size, 3), relative to their centre

    def take(self, index: Tensor) -> Groups:
        """The groups that `index` (batch, some) names in every cloud."""
        return Groups(gather_rows(self.centres, index), gather_rows(self.points, index))


@torch.no_grad()
def group_points(points: Tensor, groups: int, size: int, in_any_order: bool = False) -> Groups:
    """Cut clouds (batch, n, 3) into groups: farthest points as centres, and the `size` nearest points of each centre.

    The farthest point search starts at the first point of the list or, to give the same groups for `in_any_order` of
    the points, at the first in their canonical order. Points that coincide count as different points: two centres
    are never the same point, but may lie at the same place. Groups may overlap.
    """
    if not is_plain(points, 3) or not points.is_floating_point():
        raise ValueError(f"points: expected floats of shape (batch, n, 3), got {describe(points)}")
    least = max(groups, size)
    if points.shape[1] < least:
        raise ValueError(
            f"points: expected at least {least} per cloud, for {groups} groups of {size}, got {points.shape[1]}"
        )
    if in_any_order:
        (points,) = canonical_rows(points)
    centres = gather_rows(points, farthest_points(points, groups))
    nearest = nearest_members(points, centres, size)
    members = gather_rows(points, nearest.flatten(1)).unflatten(1, (groups, size))
    return Groups(centres, members - centres.unsqueeze(2))


class GroupEmbedding(nn.Module):
    """The mini-PointNet of Point-BERT and Point-MAE: the points (..., size, 3) of a group -> its token (..., dim).

        f_i = W_2 ReLU(BN(W_1 p_i))                    widths 3, 128, 256
        g = max_i f_i
        token = max_i W_4 ReLU(BN(W_3 [g, f_i]))       widths 512, 512, dim

    Section 3.1 of Point-BERT (https://arxiv.org/abs/2111.14819) and of Point-MAE (https://arxiv.org/abs/2203.06604).
    We split W_3 [g, f_i] into W_g g + W_f f_i, so that W_g g is computed once per group instead of once per point.

    Args:
        dim: width of a token.
        width: width of the first layer; the others are 2, 4 and 4 times as wide.
    """

    def __init__(self, dim: int, width: int = 128) -> None:
        super().__init__()
        if width < 1:
            raise ValueError(f"embedding: expected at least 1, got {width}")
        self.first = nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.ReLU(), Linear(width, 2 * width))
        self.largest = Linear(2 * width, 4 * width, bias=False)
        self.point = Linear(2 * width, 4 * width)
        self.last = nn.Sequential(nn.BatchNorm1d(4 * width), nn.ReLU(), Linear(4 * width, dim))

    def forward(self, points: Tensor) -> Tensor:
        """(..., size, 3) -> (..., dim)."""
        *shape, size, _ = points.shape
        x = self.first(points.reshape(-1, 3))
        largest = group_max(x.unflatten(0, (-1, size)), 1)  # (groups of all clouds, 2 * width)
        x = self.point(x).unflatten(0, (-1, size)) + self.largest(largest).unsqueeze(1)
        x = self.last(x.flatten(0, 1))
        token: Tensor = group_max(x.unflatten(0, (-1, size)), 1).view(*shape, -1)
        return token
