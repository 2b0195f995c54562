"""The position embedding of section 3.2."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from ..sets import check_coordinates
from .mlp import relu_layers


class PositionEmbedding(nn.Module):
    """E = W_p P: coordinates (..., coordinates) -> (..., dim), to be added to the features, X <- X + E.

    Section 3.2 of "Sampled Transformer for Point Sets" (https://openreview.net/forum?id=F7f4BYnDAIc). The paper calls
    W_p "an MLP layer" and writes one matrix; `hidden` makes it an MLP with ReLU.

    Args:
        dim: width of the features.
        coordinates: number of coordinates per point.
        hidden: widths of the hidden layers (default: none, one matrix).
        bias: give the linear layers a bias.
    """

    def __init__(self, dim: int, coordinates: int = 3, *, hidden: Sequence[int] = (), bias: bool = False) -> None:
        super().__init__()
        self.coordinates = coordinates
        self.layers = nn.Sequential(*relu_layers([coordinates, *hidden, dim], bias=bias)[:-1])

    def forward(self, positions: Tensor) -> Tensor:
        check_coordinates(positions, self.coordinates)
        embedded: Tensor = self.layers(positions)
        return embedded
