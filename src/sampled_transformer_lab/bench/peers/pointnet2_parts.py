"""PointNet++ with one scale per layer for parts (Qi et al., NeurIPS 2017, https://arxiv.org/abs/1706.02413)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sampled_transformer.geometry.gather import gather_rows

from .layers import PointLayers
from .pointnet2 import Balls


class PointNet2Parts(nn.Module):
    """Two layers of balls and one over all that is left, then three that carry features back; SSG of the paper.

    It is called like our `Segmenter`, with packed sets, which must all have the same number of points. Features enter
    the first balls beside the offsets and the last layer beside the points, as published.

    Args:
        classes: number of classes.
        features: width of what is known of each point, such as 3 for normals.
    """

    def __init__(self, classes: int, features: int = 3) -> None:
        super().__init__()
        self.first = Balls(512, 0.2, 32, [3 + features, 64, 64, 128])
        self.second = Balls(128, 0.4, 64, [128 + 3, 128, 128, 256])
        self.last = PointLayers([256 + 3, 256, 512, 1024])
        self.up_third = PointLayers([1024 + 256, 256, 256])
        self.up_second = PointLayers([256 + 128, 256, 128])
        self.up_first = PointLayers([128 + 3 + features, 128, 128, 128])
        self.head = nn.Sequential(PointLayers([128, 128]), nn.Dropout(0.5), nn.Linear(128, classes))

    def forward(self, points: Tensor, features: dict[str, Tensor], ptr: Tensor) -> Tensor:
        """Logits (total, classes)."""
        sets = len(ptr) - 1
        points = points.view(sets, -1, 3)
        known = [values.view(sets, points.shape[1], -1) for values in features.values()]
        x = torch.cat(known, -1) if known else None
        first_points, first = self.first(points, x)
        second_points, second = self.second(first_points, first)
        whole = self.last(torch.cat([second_points, second], -1)).amax(1, keepdim=True)
        second = self.up_third(torch.cat([second, whole.expand(-1, second.shape[1], -1)], -1))
        first = self.up_second(torch.cat([first, spread(first_points, second_points, second)], -1))
        fine = self.up_first(torch.cat([points, *known, spread(points, first_points, first)], -1))
        logits: Tensor = self.head(fine).flatten(0, 1)
        return logits


def spread(points: Tensor, centres: Tensor, x: Tensor) -> Tensor:
    """Features of the three nearest centres, weighted by 1 / distance: (batch, m, width) -> (batch, n, width)."""
    with torch.no_grad():
        distance, nearest = torch.cdist(points, centres).topk(3, dim=2, largest=False)
        weight = 1 / (distance + 1e-8)
        weight = weight / weight.sum(2, keepdim=True)
    found = gather_rows(x, nearest.flatten(1)).unflatten(1, nearest.shape[1:])
    spread_out: Tensor = (found * weight.to(found.dtype).unsqueeze(3)).sum(2)
    return spread_out
