"""Stratified attention: windows and sparse keys."""

from __future__ import annotations

import torch

from sampled_transformer import StratifiedAttention


def seen(layer: StratifiedAttention, positions: torch.Tensor, k: int) -> list[int]:
    x = torch.randn(1, positions.shape[1], 8, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(layer(x, positions)[0, k].sum(), x)
    return (grad[0].abs().amax(1) > 0).nonzero().flatten().tolist()


def test_points_of_a_window_read_each_other_and_not_what_is_far_away() -> None:
    torch.manual_seed(0)
    layer = StratifiedAttention(8, 2, window=1.0).double()
    near = torch.rand(1, 5, 3, dtype=torch.float64) * 0.9
    positions = torch.cat([near, near + 10], 1)
    assert seen(layer, positions, 2) == [0, 1, 2, 3, 4]


def test_odd_layers_shift_the_grid_by_half_a_window() -> None:
    """Two points on both sides of a border of the grid share a window only in shifted layers."""
    torch.manual_seed(0)
    positions = torch.tensor([[[0.9, 0.1, 0.1], [1.1, 0.1, 0.1], *[[50.0 + k, 0.1, 0.1] for k in range(6)]]]).double()
    even, odd = (StratifiedAttention(8, 2, window=1.0, layer=layer).double() for layer in (0, 1))
    assert 1 in seen(odd, positions, 0)
    far = StratifiedAttention(8, 2, window=0.05, layer=0).double()
    assert 1 not in seen(far, positions, 0)
    assert 0 in seen(even, positions, 0)


def test_the_order_of_the_points_does_not_matter() -> None:
    torch.manual_seed(0)
    layer = StratifiedAttention(8, 2).double()
    x, positions = torch.randn(1, 40, 8, dtype=torch.float64), torch.rand(1, 40, 3, dtype=torch.float64)
    turned = torch.randperm(40)
    torch.testing.assert_close(layer(x[:, turned], positions[:, turned]), layer(x, positions)[:, turned])
