"""Stacks of linear layers with ReLU, and the head of the classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn


def relu_layers(widths: Sequence[int], *, bias: bool = True) -> list[nn.Module]:
    """Linear and ReLU from each width to the next: [a, b, c] -> Linear(a, b), ReLU, Linear(b, c), ReLU."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs, bias=bias), nn.ReLU()]
    return layers


def classification_head(widths: Sequence[int], classes: int, dropout: float) -> nn.Sequential:
    """A hidden layer from each width to the next, then one linear layer: (batch, widths[0]) -> (batch, classes).

    A hidden layer is Dropout(ReLU(BatchNorm(W x + b))), as in Point-MAE and Point Transformer.
    """
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), nn.ReLU(), nn.Dropout(dropout)]
    return nn.Sequential(*layers, nn.Linear(widths[-1], classes))
