"""The position embedding E = W_p P of section 3.2."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn


class PositionEmbedding(nn.Module):
    """E = W_p P (section 3.2): coordinates (..., 3) -> (..., dim), to be added to the features.

    The paper calls W_p "an MLP layer" and writes one matrix; `hidden` makes it an MLP with ReLU.
    """

    def __init__(self, dim: int, coordinates: int = 3, *, hidden: Sequence[int] = (), bias: bool = False) -> None:
        super().__init__()
        widths = [coordinates, *hidden, dim]
        layers: list[nn.Module] = []
        for one, two in pairwise(widths):
            layers += [nn.Linear(one, two, bias=bias), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, positions: Tensor) -> Tensor:
        return self.layers(positions)
