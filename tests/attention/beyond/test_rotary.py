"""What rotary attention promises beyond the contract."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import create_attention
from sampled_transformer.attention.beyond.rotary import spread_directions

DIM, HEADS = 16, 4


def test_only_where_points_lie_from_each_other_counts() -> None:
    torch.manual_seed(0)
    layer = create_attention("rotary", DIM, HEADS).double()
    x, positions = torch.randn(2, 20, DIM, dtype=torch.float64), torch.randn(2, 20, 3, dtype=torch.float64)
    expected = layer(x, positions)
    torch.testing.assert_close(layer(x, positions + torch.tensor([5.0, -3.0, 40.0])), expected)
    assert not torch.allclose(layer(x, 2 * positions), expected)
    assert not torch.allclose(layer(x, positions.flip(0)), expected)


def test_low_and_high_frequencies_are_those_of_scaled_positions() -> None:
    torch.manual_seed(0)
    one = create_attention("rotary", DIM, HEADS).double()
    other = create_attention("rotary", DIM, HEADS, low=0.05, high=1.6).double()
    other.load_state_dict(one.state_dict())
    x, positions = torch.randn(1, 9, DIM, dtype=torch.float64), torch.randn(1, 9, 3, dtype=torch.float64)
    torch.testing.assert_close(other(x, 10 * positions), one(x, positions), rtol=1e-5, atol=1e-5)


def test_it_is_left_to_no_chance_and_its_size_does_not_grow_with_the_set() -> None:
    torch.manual_seed(0)
    layer = create_attention("rotary", DIM, HEADS)
    x, positions = torch.randn(1, 30, DIM), torch.randn(1, 30, 3)
    assert torch.equal(layer(x, positions), layer(x, positions))
    twice = layer(torch.cat([x, x], 1), torch.cat([positions, positions], 1))
    torch.testing.assert_close(twice[:, :30], layer(x, positions), rtol=1e-5, atol=1e-6)


def test_points_in_one_place_are_linear_attention() -> None:
    torch.manual_seed(0)
    rotary, linear = (create_attention(name, DIM, HEADS).double() for name in ("rotary", "linear"))
    linear.load_state_dict(rotary.state_dict())
    x = torch.randn(2, 20, DIM, dtype=torch.float64)
    torch.testing.assert_close(rotary(x, torch.full((2, 20, 3), 7.0, dtype=torch.float64)), linear(x))


def test_gradients_of_gradients() -> None:
    torch.manual_seed(0)
    layer = create_attention("rotary", 4, 1).double()
    x = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
    positions = torch.randn(1, 3, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(layer, (x, positions))
    assert torch.autograd.gradgradcheck(layer, (x, positions))


def test_features_that_underflow_leave_nothing_undefined() -> None:
    layer = create_attention("rotary", DIM, HEADS)
    x = (1e4 * torch.randn(2, 20, DIM)).requires_grad_()
    y = layer(x, torch.randn(2, 20, 3))
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()


def test_weights_are_those_of_dense_attention() -> None:
    rotary, dense = create_attention("rotary", DIM, HEADS), create_attention("dense", DIM, HEADS)
    rotary.load_state_dict(dense.state_dict())
    assert rotary.state_dict().keys() == dense.state_dict().keys()


@pytest.mark.parametrize("coordinates", [1, 2, 5])
def test_other_numbers_of_coordinates(coordinates: int) -> None:
    layer = create_attention("rotary", DIM, HEADS, coordinates=coordinates)
    x = torch.randn(1, 7, DIM)
    assert layer(x, torch.randn(1, 7, coordinates)).shape == x.shape
    with pytest.raises(ValueError, match=f"positions: expected {coordinates} coordinates, got {coordinates + 1}"):
        layer(x, torch.randn(1, 7, coordinates + 1))


@pytest.mark.parametrize("coordinates", [1, 2, 3, 6])
def test_directions_are_of_length_one_and_lie_evenly(coordinates: int) -> None:
    directions = spread_directions(256, coordinates).double()
    torch.testing.assert_close(directions.norm(dim=1), torch.ones(256, dtype=torch.float64), rtol=1e-6, atol=1e-6)
    assert directions.mean(0).norm() < 0.05
    even = torch.eye(coordinates, dtype=torch.float64) / coordinates
    torch.testing.assert_close(directions.T @ directions / 256, even, rtol=0, atol=0.03)
