"""PointNet (Qi et al., CVPR 2017, https://arxiv.org/abs/1612.00593), the classifier."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sampled_transformer.layers.mlp import classification_head

from .layers import PointLayers


class PointNet(nn.Module):
    """logits = MLP(max_i MLP(A_2 MLP(A_1 p_i))), where small networks predict the matrices A_1 and A_2 from the set.

    Args:
        classes: number of classes.
    """

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.turn_points, self.turn_features = Alignment(3), Alignment(64)
        self.first = PointLayers([3, 64, 64])
        self.second = PointLayers([64, 64, 128, 1024])
        self.head = classification_head([1024, 512, 256], classes, 0.3)

    def forward(self, points: Tensor) -> Tensor:
        x = self.first(points @ self.turn_points(points))
        turn = self.turn_features(x)
        self.penalty = 1e-3 * (torch.eye(64) - turn @ turn.mT).square().sum((1, 2)).mean()  # keeps A_2 orthogonal
        logits: Tensor = self.head(self.second(x @ turn).amax(1))
        return logits


class Alignment(nn.Module):
    """A = I + MLP(max_i MLP(x_i)), a matrix (width, width) for every set ("T-Net")."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.points = PointLayers([width, 64, 128, 1024])
        self.set = PointLayers([1024, 512, 256])
        self.matrix = nn.Linear(256, width * width)
        nn.init.zeros_(self.matrix.weight)
        nn.init.zeros_(self.matrix.bias)

    def forward(self, x: Tensor) -> Tensor:
        entries: Tensor = self.matrix(self.set(self.points(x).amax(1)))
        matrices: Tensor = entries.float().unflatten(1, (self.width, self.width))
        return torch.eye(self.width) + matrices
