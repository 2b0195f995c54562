from __future__ import annotations

import torch

from sampled_transformer.layers.pooling import pool_max


def test_is_the_maximum_of_each_set_in_every_form() -> None:
    x = torch.randn(7, 4)
    ptr = torch.tensor([0, 3, 3, 7])
    expected = torch.stack([x[:3].amax(0), torch.zeros(4), x[3:].amax(0)])
    assert torch.equal(pool_max(x, ptr=ptr), expected)
    mask = torch.tensor([[True] * 3 + [False], [False] * 4, [True] * 4])
    padded = torch.full((3, 4, 4), torch.inf)
    padded[mask] = x
    assert torch.equal(pool_max(padded, mask), expected)
    assert torch.equal(pool_max(x[None]), x.amax(0)[None])


def test_sets_without_points_are_zero() -> None:
    x = torch.zeros(2, 0, 4)
    assert torch.equal(pool_max(x), torch.zeros(2, 4))
    assert torch.equal(pool_max(x, torch.zeros(2, 0, dtype=torch.bool)), torch.zeros(2, 4))
    assert torch.equal(pool_max(x[0], ptr=torch.tensor([0, 0, 0])), torch.zeros(2, 4))


def test_the_gradient_reaches_the_largest_point_only() -> None:
    x = torch.tensor([[[1.0], [3.0], [2.0]]], requires_grad=True)
    pool_max(x, torch.tensor([[True, False, True]])).sum().backward()
    assert x.grad is not None
    assert x.grad.flatten().tolist() == [0, 0, 1]
