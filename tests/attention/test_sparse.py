"""Sparse attention depends on the order of the points, which is why the paper draws cycles."""

from __future__ import annotations

import torch

from sampled_transformer import SparseAttention


def test_every_point_reads_itself_and_the_next_one() -> None:
    torch.manual_seed(0)
    layer = SparseAttention(8, 2).double()
    x = torch.randn(1, 6, 8, dtype=torch.float64, requires_grad=True)
    for k in range(6):
        (grad,) = torch.autograd.grad(layer(x)[0, k].sum(), x)
        read = (grad[0].abs().amax(1) > 0).nonzero().flatten().tolist()
        assert read == sorted({k, (k + 1) % 6})


def test_another_order_of_the_points_is_another_result() -> None:
    torch.manual_seed(0)
    layer = SparseAttention(8, 2).double()
    x, turned = torch.randn(1, 6, 8, dtype=torch.float64), torch.tensor([3, 1, 5, 0, 2, 4])
    assert not torch.allclose(layer(x[:, turned]), layer(x)[:, turned])
    assert not layer.is_random
