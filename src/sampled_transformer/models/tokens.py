"""Clouds as tokens (section 5.1): groups of neighbouring points, which of them are masked, and their embedding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Generator, Tensor, nn

from ..geometry import farthest_points, nearest_neighbours
from ..layers.sparse_gradient import Linear


class Groups(NamedTuple):
    """Neighbourhoods of a batch of clouds. A token's position is its centre."""

    centres: Tensor  # (batch, groups, 3)
    points: Tensor  # (batch, groups, size, 3), relative to their centre

    def take(self, index: Tensor) -> Groups:
        """The groups of `index` (batch, some)."""
        return Groups(take(self.centres, index), take(self.points, index))


def take(tensor: Tensor, index: Tensor) -> Tensor:
    """Rows `index` (batch, some) of each (rows, ...) of a batch."""
    batch, rows = tensor.shape[:2]
    begin = torch.arange(batch, device=index.device).unsqueeze(1) * rows
    return tensor.flatten(0, 1).index_select(0, (index + begin).flatten()).view(*index.shape, *tensor.shape[2:])


@torch.no_grad()
def group_points(points: Tensor, groups: int, size: int) -> Groups:
    """Farthest points as centres, from the first point on, and the `size` nearest points of each.

    Coinciding points are points like all others: centres are different points, if not different places.
    """
    if points.dim() != 3 or points.shape[-1] != 3 or not points.is_floating_point():
        raise ValueError(f"points: expected floats of shape (batch, n, 3), got {points.dtype} {tuple(points.shape)}")
    least = max(groups, size)
    if points.shape[1] < least:
        raise ValueError(
            f"points: expected at least {least} a cloud, for {groups} groups of {size}, got {points.shape[1]}"
        )
    centres = take(points, farthest_points(points, groups))
    nearest = _select(points, centres, size)
    if nearest is None:
        nearest, _ = nearest_neighbours(points, size, queries=centres)
    members = take(points, nearest.flatten(1)).unflatten(1, (groups, size))
    return Groups(centres, members - centres.unsqueeze(2))


def _select(points: Tensor, centres: Tensor, size: int) -> Tensor | None:
    """The nearest points of each centre in no order, (batch, groups, size); None where that takes another way.

    numpy finds the `size`-th smallest of a thousand distances five times faster than torch does, and a group has no
    order. Of several points that are just that far away, which stored clouds have, the first ones are taken.
    """
    if points.device.type != "cpu" or torch.compiler.is_compiling():
        return None
    with torch.autocast("cpu", enabled=False):  # numpy has no bfloat16, and distances want their digits
        return _select_exactly(points, centres, size)


def _select_exactly(points: Tensor, centres: Tensor, size: int) -> Tensor | None:
    wide = torch.promote_types(points.dtype, torch.float32)
    points, centres = points.to(wide), centres.to(wide)
    middle = points.mean(1, keepdim=True)  # far from the origin the squares would leave no digits for the distances
    points, centres = (points - middle).float(), (centres - middle).float()
    # |p - c|^2 but for |c|^2, which changes no order
    squared = torch.baddbmm(points.square().sum(2).unsqueeze(1), centres, points.transpose(1, 2), alpha=-2)
    rows = squared.flatten(0, 1).numpy()
    border = np.partition(rows, size - 1)[:, size - 1 : size]
    chosen = rows <= border
    tied = np.flatnonzero(chosen.sum(1) > size)
    nearer, equal = rows[tied] < border[tied], rows[tied] == border[tied]
    chosen[tied] = nearer | (equal & (equal.cumsum(1) <= size - nearer.sum(1, keepdims=True)))
    index = np.flatnonzero(chosen)
    if len(index) != len(rows) * size:  # not all of them are numbers
        return None
    return torch.from_numpy(index % points.shape[1]).view(*centres.shape[:2], size)


def masked_count(groups: int, ratio: float) -> int:
    """How many of the groups are masked: the ratio rounded down, as in Point-MAE (70 % of 64 are 44)."""
    if not 0 < ratio < 1:
        raise ValueError(f"mask_ratio: expected more than 0 and less than 1, got {ratio}")
    count = int(ratio * groups + 1e-9)  # 0.7 * 10 is 7 here, whatever its last bit says
    if not 0 < count < groups:
        raise ValueError(
            f"mask_ratio: expected at least one visible and one masked group, got {count} masked of {groups} ({ratio})"
        )
    return count


def draw_mask(
    batch: int, groups: int, ratio: float, generator: Generator | None = None, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Numbers of the visible (batch, groups - masked) and the masked groups (batch, masked), uniformly drawn.

    They are drawn where the generator lives; torch's global one of the device if none is given.
    """
    masked = masked_count(groups, ratio)
    place = device if generator is None else generator.device
    order = torch.rand(batch, groups, generator=generator, device=place).argsort(1).to(device)
    return order[:, masked:], order[:, :masked]


class GroupEmbedding(nn.Module):
    """The mini-PointNet of Point-BERT and Point-MAE: points (..., size, 3) of a group -> its token (..., dim).

    Each point through 3-128-BN-ReLU-256, the largest value of each feature beside every point, 512-512-BN-ReLU-dim,
    and the largest values again. A layer on (largest, point) is the sum of a layer on each of the two, and the first
    need not be computed again for every point.

    Args:
        dim: width of a token.
        width: of the first layer; the others are 2, 4 and 4 times as wide.
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
        *shape, size, _ = points.shape
        x = self.first(points.reshape(-1, 3))
        # max and not amax, whose backward pass takes twice as long
        largest = x.unflatten(0, (-1, size)).max(1).values  # (groups of all clouds, 2 * width)
        x = self.point(x).unflatten(0, (-1, size)) + self.largest(largest).unsqueeze(1)
        x = self.last(x.flatten(0, 1))
        return x.unflatten(0, (-1, size)).max(1).values.view(*shape, -1)
