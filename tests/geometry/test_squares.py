"""Sums of squares are rounded after every step, on tensors and on arrays."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch

from sampled_transformer.geometry.squares import sum_of_squares


def test_every_step_is_rounded_by_itself() -> None:
    values = torch.rand(3, 1000, generator=torch.Generator().manual_seed(0)) - 0.5
    found = sum_of_squares(values.unbind())
    assert torch.equal(found, torch.from_numpy(sum_of_squares(values.numpy())))

    def rounded(number: Fraction) -> Fraction:
        return Fraction(float(np.float32(float(number))))  # products and sums of two float32 are exact in float64

    for column, total in zip(values.T.tolist(), found.tolist(), strict=True):
        x, y, z = (rounded(Fraction(value) ** 2) for value in column)
        assert rounded(rounded(x + y) + z) == Fraction(total)


def test_one_axis_is_enough() -> None:
    assert sum_of_squares([torch.tensor([3.0, -2.0])]).tolist() == [9.0, 4.0]
