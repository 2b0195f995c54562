"""PointNet++ with one scale per layer (Qi et al., NeurIPS 2017, https://arxiv.org/abs/1706.02413), the classifier."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from sampled_transformer.geometry import farthest_points
from sampled_transformer.geometry.gather import gather_rows
from sampled_transformer.layers.group_max import group_max
from sampled_transformer.layers.mlp import classification_head

from .layers import PointLayers


class PointNet2(nn.Module):
    """Two layers of balls, one over all that is left, and a head; SSG of the paper, on positions alone.

    Args:
        classes: number of classes.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.first = Balls(512, 0.2, 32, [3, 64, 64, 128])
        self.second = Balls(128, 0.4, 64, [128 + 3, 128, 128, 256])
        self.last = PointLayers([256 + 3, 256, 512, 1024])
        self.head = classification_head([1024, 512, 256], classes, 0.4)

    def forward(self, points: Tensor) -> Tensor:
        points, x = self.first(points, None)
        points, x = self.second(points, x)
        logits: Tensor = self.head(self.last(torch.cat([points, x], -1)).amax(1))
        return logits


class Balls(nn.Module):
    """Set abstraction: y_i = max_{j in ball(c_i)} MLP([p_j - c_i, x_j]) for farthest points c_i.

    Args:
        centres: number of balls.
        radius: of the balls.
        most: points of a ball; further ones are left out.
        widths: of the inputs and the layers.
    """

    def __init__(self, centres: int, radius: float, most: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.centres, self.radius, self.most = centres, radius, most
        self.layers = PointLayers(widths)

    def forward(self, points: Tensor, x: Tensor | None) -> tuple[Tensor, Tensor]:
        centres = gather_rows(points, farthest_points(points, min(self.centres, points.shape[1])))
        members = ball(points, centres, self.radius, self.most)
        rows = members.flatten(1)
        inside = gather_rows(points, rows).unflatten(1, members.shape[1:]) - centres.unsqueeze(2)
        if x is not None:
            inside = torch.cat([inside, gather_rows(x, rows).unflatten(1, members.shape[1:])], -1)
        return centres, group_max(self.layers(inside), 2)


@torch.no_grad()
def ball(points: Tensor, centres: Tensor, radius: float, most: int) -> Tensor:
    """The first `most` points within the radius of every centre, (batch, centres, most); the first one fills up."""
    n = points.shape[1]
    far = torch.cdist(centres, points) > radius
    place = torch.arange(n).expand_as(far).masked_fill(far, n)
    members = place.topk(min(most, n), dim=2, largest=False).values.sort(2).values
    # A centre is one of the points, so a ball is never empty.
    return torch.where(members == n, members[..., :1], members).clamp(max=n - 1)
