from __future__ import annotations

import pytest
import torch

from sampled_transformer.geometry.gather import gather_rows


@pytest.mark.parametrize("shape", [(4, 10), (4, 10, 3), (4, 10, 2, 3)])
def test_rows_are_those_of_each_set(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    index = torch.tensor([[3, 1], [0, 0], [9, 2], [5, 6]])
    expected = torch.stack([one[i] for one, i in zip(x, index, strict=True)])
    assert torch.equal(gather_rows(x, index), expected)


def test_no_rows_and_no_sets() -> None:
    assert gather_rows(torch.randn(2, 5, 3), torch.zeros(2, 0, dtype=torch.int64)).shape == (2, 0, 3)
    assert gather_rows(torch.randn(0, 5, 3), torch.zeros(0, 4, dtype=torch.int64)).shape == (0, 4, 3)


def test_a_row_taken_twice_gets_both_gradients() -> None:
    x = torch.zeros(1, 3, 2, requires_grad=True)
    gather_rows(x, torch.tensor([[1, 1, 2]])).sum().backward()
    assert x.grad is not None
    assert x.grad[0, :, 0].tolist() == [0, 2, 1]
