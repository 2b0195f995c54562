"""Sampled attention beyond the paper: what its options converge to, and what they do not depend on."""

from __future__ import annotations

import math

import pytest
import torch

from sampled_transformer import Cycle, SampledAttention, create_attention
from sampled_transformer.attention.walks import curve_cycle, random_turn, seeded_turn
from sampled_transformer.sets import Sets

DIM, HEADS = 16, 4


def pair(scale: float = 2.0, **options: object) -> tuple[torch.nn.Module, torch.nn.Module]:
    """A sampled layer with large enough scores to tell softmaxes apart, and dense attention with its weights."""
    torch.manual_seed(0)
    dense = create_attention("dense", DIM, HEADS, scale=scale).double()
    sampled = create_attention("sampled", DIM, HEADS, scale=scale, **options).double()
    sampled.load_state_dict(dense.state_dict())
    return sampled, dense


@pytest.mark.parametrize("options", [{}, {"estimator": "consistent"}, {"rest": "linear"}])
@pytest.mark.parametrize("n", [1, 2, 12])
@pytest.mark.parametrize("training", [True, False])
def test_all_rounds_are_dense_attention(options: dict, n: int, training: bool) -> None:
    sampled, dense = pair(rounds=max(1, n - 1), **options)
    x = torch.randn(3, n, DIM, dtype=torch.float64)
    torch.testing.assert_close(sampled.train(training)(x), dense(x), rtol=0, atol=1e-12)


@torch.no_grad()
def error(rounds: int, estimator: str, n: int, draws: int = 64) -> float:
    """Root mean square distance to dense attention, over fresh cycles."""
    sampled, dense = pair(scale=0.5, rounds=rounds, estimator=estimator)  # sharper ones reach the slope later
    x = torch.randn(1, n, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    wanted = dense(x)
    return math.sqrt(sum(float((sampled(x) - wanted).square().mean()) for _ in range(draws)) / draws)


def test_the_consistent_estimator_falls_as_one_over_the_root_of_the_rounds() -> None:
    """Far from R = n - 1, where sampling without repetition is better still."""
    rounds = [16, 32, 64, 128]
    errors = [error(r, "consistent", n=2048, draws=8) for r in rounds]
    slope = math.log(errors[-1] / errors[0]) / math.log(rounds[-1] / rounds[0])
    assert -0.65 < slope < -0.4, errors


@torch.no_grad()
def test_the_paper_s_average_converges_elsewhere() -> None:
    """Averaging two-key softmaxes over cycles has the limit mean_j softmax(own, j), which is not dense attention."""
    sampled, dense = pair(samples=4096)
    n = 6
    x = torch.randn(1, n, DIM, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    query, key, value = (sampled.split(part(x)) for part in (sampled.query, sampled.key, sampled.value))
    score = 2.0 * torch.einsum("bihd,bjhd->bijh", query, key)
    own = torch.einsum("biih->bih", score)[:, :, None]
    share = torch.sigmoid(score - own)  # of the other key
    pairs = share[..., None] * value[:, None] + (1 - share[..., None]) * value[:, :, None]
    others = ~torch.eye(n, dtype=torch.bool)
    limit = sampled.output(pairs[:, others].view(1, n, n - 1, HEADS, -1).mean(2).flatten(2))
    averaged = sampled.eval()(x)
    assert (averaged - limit).norm() < 0.03 * limit.norm()
    assert (limit - dense(x)).norm() > 0.2 * dense(x).norm()


def test_large_scores_overflow_nothing() -> None:
    layer = create_attention("sampled", DIM, HEADS, rest="linear", rounds=3, scale=1000.0)
    x = (10 * torch.randn(2, 20, DIM)).requires_grad_()
    y = layer(x)
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_a_curve_visits_near_points_one_after_the_other() -> None:
    points = torch.rand(2, 500, 3, generator=torch.Generator().manual_seed(0))
    turn = random_turn(3, torch.Generator().manual_seed(1), points.device)
    torch.testing.assert_close(turn @ turn.T, torch.eye(3, dtype=torch.float64))

    def step(cycle: Cycle) -> float:
        following = cycle.with_batch(cycle.successor)[:, 0].expand(2, -1)
        return float((points - points.gather(1, following[..., None].expand(-1, -1, 3))).norm(dim=-1).mean())

    random = step(Cycle.sample(500))
    for curve in ("morton", "hilbert"):
        assert step(curve_cycle(points, turn, curve, Sets())) < 0.35 * random


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


def test_a_seed_has_its_turn() -> None:
    device = torch.device("cpu")
    assert torch.equal(seeded_turn(3, (0, 1, 2), device), seeded_turn(3, (0, 1, 2), device))
    assert not torch.equal(seeded_turn(3, (0, 1, 2), device), seeded_turn(3, (0, 1, 3), device))


def test_linear_attention_ignores_scale_and_reads_everything() -> None:
    torch.manual_seed(0)
    layer = create_attention("linear", DIM, HEADS, scale=5.0)
    other = create_attention("linear", DIM, HEADS)
    other.load_state_dict(layer.state_dict())
    x = torch.randn(1, 30, DIM, requires_grad=True)
    assert torch.equal(layer(x), other(x))
    (grad,) = torch.autograd.grad(layer(x)[0, 0].sum(), x)
    assert (grad[0].abs().amax(1) > 0).all()


@pytest.mark.parametrize("curve", ["morton", "hilbert"])
def test_packed_sets_follow_the_curve_in_the_same_fine_cells(curve: str) -> None:
    """Points nearer than 2^-10 of the set's side, given against their order, besides two far ones."""
    line = torch.linspace(1e-4, 0, 50, dtype=torch.float64)
    points = torch.cat([line, torch.tensor([1.0, -1.0], dtype=torch.float64)])[:, None].expand(-1, 3).contiguous()
    turn = torch.eye(3, dtype=torch.float64)
    plain = curve_cycle(points[None], turn, curve, Sets())
    packed = curve_cycle(points[None], turn, curve, Sets(ptr=torch.tensor([0, 52])))
    assert torch.equal(plain.order[0], packed.order)


def test_summed_attention_reads_every_point_and_is_left_to_no_chance() -> None:
    torch.manual_seed(0)
    layer = create_attention("summed", DIM, HEADS)
    x = torch.randn(2, 30, DIM, requires_grad=True)
    assert torch.equal(layer(x), layer(x))  # in training, without positions
    (grad,) = torch.autograd.grad(layer(x)[0, 0].sum(), x)
    assert (grad[0].abs().amax(1) > 0).all()
    assert (grad[1] == 0).all()


def test_large_features_of_summed_attention_pick_one_point() -> None:
    """Of each feature, the point where the key has it most: with sharp queries the answer is one point's value."""
    layer = create_attention("summed", 1, 1, head_dim=2).double()
    with torch.no_grad():
        layer.query.weight.copy_(torch.tensor([[1e3], [-1e3]]))  # a positive point asks for the first feature
        layer.key.weight.copy_(torch.tensor([[1e3], [-1e3]]))  # the largest point has it, the smallest the second
        layer.value.weight.fill_(1)
        layer.output.weight.fill_(0.5)
    x = torch.tensor([[[1.0], [-2.0], [3.0], [-0.5]]], dtype=torch.float64)
    expected = torch.tensor([[[3.0], [-2.0], [3.0], [-2.0]]], dtype=torch.float64)
    torch.testing.assert_close(layer(x), expected)


def test_local_heads_see_near_points_only() -> None:
    """All heads local: two far clusters of as many points as a window holds do not see each other."""
    torch.manual_seed(0)
    layer = create_attention("summed", DIM, HEADS, local=HEADS, window=8).eval()
    x = torch.randn(1, 40, DIM, requires_grad=True)
    positions = torch.cat([torch.rand(20, 3), torch.rand(20, 3) + 100])[None]
    (grad,) = torch.autograd.grad(layer(x, positions)[0, :20].sum(), x)
    seen = grad[0].abs().amax(1) > 0
    assert seen[:20].all()
    assert seen[20:].sum() <= 8  # the one window that the curve leads from one to the other
