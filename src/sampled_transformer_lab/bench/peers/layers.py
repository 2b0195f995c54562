"""Layers that the peers share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn


class PointLayers(nn.Module):
    """Linear, BatchNorm and an activation for every row, from each width to the next: (..., a) -> (..., z).

    Args:
        widths: of the inputs and of every layer.
        slope: of the activation for negative numbers: 0 is ReLU.
    """

    def __init__(self, widths: Sequence[int], slope: float = 0.0) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(widths):
            activation = nn.LeakyReLU(slope) if slope else nn.ReLU()
            layers += [nn.Linear(inputs, outputs, bias=False), nn.BatchNorm1d(outputs), activation]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        rows: Tensor = self.layers(x.flatten(0, -2))
        out: Tensor = rows.unflatten(0, x.shape[:-1])
        return out
