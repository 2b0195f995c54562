"""Which cycles a call walks, whatever the mechanism does along them."""

from __future__ import annotations

import pytest
import torch
from helpers.variants import build, cloud

from sampled_transformer import Cycle, SampledAttention, create_attention, network_cycle
from sampled_transformer.sets import Sets

DIM, HEADS = 16, 4


@pytest.mark.parametrize("order", ["morton", "hilbert", "mixed"])
def test_positions_decide_and_not_the_order_of_the_points(order: str) -> None:
    """All heads of a curve, and the near half of mixed ones, whose other half walks by place."""
    torch.manual_seed(0)
    layer = SampledAttention(DIM, HEADS, order=order).double().eval()
    x, positions = torch.randn(2, 40, DIM, dtype=torch.float64), torch.rand(2, 40, 3, dtype=torch.float64)
    if order == "mixed":
        near = layer.draw(x, Sets(), None, positions)[0]
        assert near.order.shape == (2, HEADS, 40)
        assert torch.equal(near.order[:, 0], near.order[:, 1])
        assert torch.equal(near.order[:, 2], near.order[:, 3])
        assert not torch.equal(near.order[:, 0], near.order[:, 2])
        return
    turned = torch.randperm(40)
    torch.testing.assert_close(layer(x[:, turned], positions[:, turned]), layer(x, positions)[:, turned])


@pytest.mark.parametrize("name", ["sampled", "estimated"])
def test_training_draws_one_cycle_and_evaluation_as_many_as_asked(name: str) -> None:
    layer = create_attention(name, DIM, HEADS, samples=3, seed=5, layer=2)
    x = torch.randn(2, 9, DIM)
    assert len(layer.train().draw(x, Sets(), None)) == 1
    drawn = layer.eval().draw(x, Sets(), None)
    expected = [Cycle.from_seed((5, 2, sample), 9) for sample in range(3)]
    assert all(torch.equal(one.order, two.order) for one, two in zip(drawn, expected, strict=True))


def test_per_head_cycles_differ_between_heads() -> None:
    layer = SampledAttention(DIM, HEADS, cycles="per-head").eval()
    (cycle,) = layer.draw(torch.randn(1, 30, DIM), Sets(), None)
    assert cycle.order.shape == (HEADS, 30)
    assert len({tuple(row) for row in cycle.order.tolist()}) == HEADS


@pytest.mark.parametrize("variant", ["sampled", "sampled-sequential", "estimated-rest-linear"])
def test_several_given_cycles_are_averaged(variant: str) -> None:
    layer, (x, positions) = build(variant), cloud(30)
    ptr = torch.tensor([0, 12, 13, 30])
    cycles = [Cycle.sample(ptr=ptr) for _ in range(3)]
    expected = torch.stack([layer(x, positions, ptr=ptr, cycle=one) for one in cycles]).mean(0)
    torch.testing.assert_close(layer(x, positions, ptr=ptr, cycle=cycles), expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(layer(x, positions, ptr=ptr, cycle=cycles[:1]), expected, atol=1e-4)


def test_each_of_several_cycles_must_fit() -> None:
    layer, x = SampledAttention(DIM, HEADS), torch.randn(2, 9, DIM)
    with pytest.raises(ValueError, match=r"cycle: expected the shape .*got \(1, 8\)"):
        layer(x, cycle=[Cycle.sample(9), Cycle.sample(8)])
    with pytest.raises(ValueError, match="cycle: expected at least one, got none"):
        layer(x, cycle=[])


@pytest.mark.parametrize("training", [True, False])
def test_the_first_layer_that_asks_draws_for_the_network(training: bool) -> None:
    x = torch.randn(2, 9, DIM)
    own, one, two = (
        SampledAttention(DIM, HEADS, cycles=cycles, samples=2, layer=number).train(training)
        for number, cycles in enumerate(("shared", "network", "network"))
    )
    assert network_cycle([own, torch.nn.ReLU()], x) is None
    drawn = network_cycle([own, one, two], x)
    if training:
        assert len(drawn) == 1
        assert not torch.equal(network_cycle([own, one, two], x)[0].order, drawn[0].order)
    else:
        expected = one.draw(x, Sets(), None)
        assert all(torch.equal(a.order, b.order) for a, b in zip(drawn, expected, strict=True))
    given = Cycle.sample(9)
    assert network_cycle([one], x, cycle=given) is given


def test_heads_that_walk_no_cycle_draw_none() -> None:
    layer = create_attention("summed", DIM, HEADS, cycles="network", local=0)
    assert network_cycle([layer], torch.randn(2, 9, DIM)) is None


def test_a_cycle_of_a_wrong_shape_is_refused() -> None:
    layer = SampledAttention(DIM, HEADS)
    with pytest.raises(ValueError, match=r"cycle: expected the shape \(1 or 4, 9\).*got \(1, 8\)"):
        layer(torch.randn(2, 9, DIM), cycle=Cycle.sample(8))
