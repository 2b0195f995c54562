"""Averages of sampled attention tend to a function of their own; the consistent estimate tends to dense attention."""

from __future__ import annotations

from itertools import permutations

import pytest
import torch

from sampled_transformer import create_attention
from sampled_transformer.attention import SampledAttention
from sampled_transformer.cycles import Cycle
from sampled_transformer_lab.monte_carlo import (
    ESTIMATES,
    LIMIT,
    average_limit,
    dense_output,
    errors,
    layer_and_input,
    powers,
    relative_error,
    slope,
    tables,
)


@pytest.fixture
def layer() -> SampledAttention:
    torch.manual_seed(0)
    layer = SampledAttention(16, 2).eval()
    with torch.no_grad():
        layer.query.weight.mul_(4)  # scores large enough for the softmax to matter
    return layer


def test_dense_output_is_that_of_the_dense_layer(layer: SampledAttention) -> None:
    x = torch.randn(2, 9, 16)
    dense = create_attention("dense", 16, 2)
    dense.load_state_dict(layer.state_dict())
    torch.testing.assert_close(dense_output(layer, x), dense(x))


@torch.no_grad()
def test_the_limit_is_the_mean_over_all_cycles(layer: SampledAttention) -> None:
    x = torch.randn(2, 5, 16)
    orders = [torch.tensor([0, *rest]) for rest in permutations(range(1, 5))]
    outputs = [layer(x, cycle=Cycle.from_order(order[None])) for order in orders]
    torch.testing.assert_close(average_limit(layer, x), torch.stack(outputs).mean(0))


def test_errors_fall_to_the_right_limits(layer: SampledAttention) -> None:
    found = errors(layer, torch.randn(2, 65, 16), powers(65), seeds=3)
    rounds, by_name = found["rounds"], found["errors"]
    assert rounds == [1, 2, 4, 8, 16, 32, 64]
    for name in ("one softmax", "consistent", "linear rest"):
        assert by_name[name][-1] < 1e-5  # all others are read
    assert found["limit"] > 0.1
    assert by_name["average"][-1] > 0.8 * found["limit"]
    assert slope(rounds, by_name[LIMIT], 64) == pytest.approx(-0.5, abs=0.1)
    assert by_name["consistent"][3] < by_name["consistent"][0]


def test_slope_and_errors_by_hand() -> None:
    assert slope([1, 4, 16, 64], [8.0, 4.0, 2.0, 100.0], most=16) == pytest.approx(-0.5)
    assert relative_error(torch.tensor([3.0, 0.0]), torch.tensor([3.0, 4.0])) == pytest.approx(0.8)
    assert powers(6) == [1, 2, 4, 5]
    assert powers(5) == [1, 2, 4]


def test_on_the_network_that_comes_with_the_package() -> None:
    cases = {}
    for case, fresh in (("random", True), ("trained", False)):
        layer, x = layer_and_input("bricks", shapes=2, points=32, fresh=fresh)
        assert x.shape == (2, 32, layer.dim)
        cases[case] = errors(layer, x, powers(32), seeds=1)
    text = "\n".join(tables({"points": 32, "cases": cases}))
    assert all(name in text for name in (*ESTIMATES, "Random weights", "Trained weights"))
    assert cases["random"] != cases["trained"]
