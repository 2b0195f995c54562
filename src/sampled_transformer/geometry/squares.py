"""Squared distances that have the same last bit wherever they are computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from torch import Tensor

Values = TypeVar("Values", Tensor, np.ndarray)


def sum_of_squares(differences: Iterable[Values]) -> Values:
    """((x^2 + y^2) + z^2) + ... of the differences along every axis, each step rounded by itself.

    Farthest points and nearest points choose among equals by their index, so that compiled and exported networks choose
    as the network does. That needs distances which are equal to the bit: a fused multiplication and addition, which
    `addcmul` is on most processors, or |p|^2 - 2 p.c rounds otherwise and makes other points equal.
    """
    first, *others = differences
    total: Values = first * first
    for difference in others:
        total = total + difference * difference
    return total
