"""torch's padding masks become ours."""

from __future__ import annotations

import math

import pytest
import torch

from sampled_transformer.drop_in.padding import real_points


def test_padding_of_torch_is_the_opposite_of_real_points() -> None:
    padding = torch.tensor([[False, True], [False, False]])
    expected = [[True, False], [True, True]]
    assert real_points(padding, (2, 2)).tolist() == expected
    floats = torch.zeros(2, 2).masked_fill(padding, -math.inf)
    assert real_points(floats, (2, 2)).tolist() == expected
    assert real_points(floats.bfloat16(), (2, 2)).tolist() == expected


@pytest.mark.parametrize(
    ("padding", "message"),
    [
        (torch.zeros(2, 3, dtype=torch.bool), r"expected bool of shape \(2, 2\), True for padding, got torch.bool of"),
        (torch.zeros(2, 2, dtype=torch.int64), "True for padding, got torch.int64"),
        ([[False, True]], "True for padding, got list"),
        (torch.tensor([[0.0, -2.5], [0.0, 0.0]]), "expected 0 for real points and -inf for padding .* got -2.5"),
    ],
)
def test_other_masks_are_refused(padding: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"src_key_padding_mask: .*{message}"):
        real_points(padding, (2, 2), "src_key_padding_mask")  # type: ignore[arg-type]
