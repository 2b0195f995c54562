"""DGCNN (Wang et al., TOG 2019, https://arxiv.org/abs/1801.07829), the classifier."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

from sampled_transformer.geometry.gather import gather_rows
from sampled_transformer.layers.group_max import group_max

from .layers import PointLayers

SLOPE = 0.2


class DynamicGraphNetwork(nn.Module):
    """Four edge convolutions, each on the neighbours in the space of its own inputs; all their outputs are pooled.

    Args:
        classes: number of classes.
        neighbours: k, of every point.
    """

    def __init__(self, classes: int, neighbours: int = 20) -> None:
        super().__init__()
        widths = [3, 64, 64, 128, 256]
        self.edges = nn.ModuleList(EdgeConvolution(inputs, outputs, neighbours) for inputs, outputs in pairwise(widths))
        self.join = PointLayers([sum(widths[1:]), 1024], SLOPE)
        self.head = nn.Sequential(
            PointLayers([2048, 512], SLOPE),
            nn.Dropout(0.5),
            PointLayers([512, 256], SLOPE),
            nn.Dropout(0.5),
            nn.Linear(256, classes),
        )

    def forward(self, points: Tensor) -> Tensor:
        x, outputs = points, []
        for edge in self.edges:
            x = edge(x)
            outputs.append(x)
        joined = self.join(torch.cat(outputs, -1))
        logits: Tensor = self.head(torch.cat([joined.amax(1), joined.mean(1)], 1))
        return logits


class EdgeConvolution(nn.Module):
    """y_i = max_{j in kNN(x_i)} LeakyReLU(BN(W [x_j - x_i, x_i]))."""

    def __init__(self, inputs: int, outputs: int, neighbours: int) -> None:
        super().__init__()
        self.neighbours = neighbours
        self.layer = PointLayers([2 * inputs, outputs], SLOPE)

    def forward(self, x: Tensor) -> Tensor:
        nearest = near(x, self.neighbours)
        others = gather_rows(x, nearest.flatten(1)).unflatten(1, nearest.shape[1:])
        own = x.unsqueeze(2).expand_as(others)
        pooled = group_max(self.layer(torch.cat([others - own, own], -1)), 2)
        return pooled


@torch.no_grad()
def near(x: Tensor, count: int) -> Tensor:
    """The nearest rows of every row, itself among them, (batch, n, count)."""
    x = x.float()
    return torch.cdist(x, x).topk(min(count, x.shape[1]), dim=2, largest=False).indices
