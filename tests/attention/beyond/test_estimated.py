"""What the estimators converge to, and what they do not."""

from __future__ import annotations

import math

import pytest
import torch

from sampled_transformer import Cycle, EstimatedAttention, SampledAttention, create_attention

DIM, HEADS = 16, 4


def pair(scale: float = 2.0, **options: object) -> tuple[torch.nn.Module, torch.nn.Module]:
    """A sampled layer with large enough scores to tell softmaxes apart, and dense attention with its weights."""
    torch.manual_seed(0)
    dense = create_attention("dense", DIM, HEADS, scale=scale).double()
    sampled = create_attention(
        "sampled" if not options.keys() & {"rounds"} else "estimated", DIM, HEADS, scale=scale, **options
    ).double()
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
    layer = create_attention("estimated", DIM, HEADS, rest="linear", rounds=3, scale=1000.0)
    x = (10 * torch.randn(2, 20, DIM)).requires_grad_()
    y = layer(x)
    y.sum().backward()
    assert y.isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()


def test_one_round_is_sampled_attention() -> None:
    torch.manual_seed(0)
    sampled = SampledAttention(DIM, HEADS).double()
    estimated = EstimatedAttention(DIM, HEADS).double()
    estimated.load_state_dict(sampled.state_dict())
    x, cycle = torch.randn(2, 12, DIM, dtype=torch.float64), Cycle.sample(12)
    torch.testing.assert_close(estimated(x, cycle=cycle), sampled(x, cycle=cycle), rtol=0, atol=1e-12)


def test_recorded_options_of_sampled_attention_still_lead_here() -> None:
    layer = create_attention("sampled", DIM, HEADS, rounds=4, estimator="consistent", cycles="per-head")
    assert isinstance(layer, EstimatedAttention)
    assert (layer.rounds, layer.estimator, layer.cycles) == (4, "consistent", "per-head")
    assert isinstance(create_attention("sampled", DIM, HEADS, rounds=1, rest="ignored"), SampledAttention)
