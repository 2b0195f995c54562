import math

import pytest
import torch
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal

from sampled_transformer.data.sources.gaussians import (
    CODE_POINTS,
    PAPER_POINTS,
    fixed_mixtures,
    mixture_log_likelihood,
    sample_mixtures,
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_oracle_on_the_fixed_sets() -> None:
    batches = fixed_mixtures()
    oracle = torch.cat([batch.log_likelihood() for batch in batches])
    assert len(oracle) == 1000
    assert {tuple(batch.points.shape[::2]) for batch in batches} == {(10, 2)}
    assert len({batch.points.shape[1] for batch in batches}) > 50  # each batch draws its own n
    assert oracle.mean().item() == pytest.approx(-1.47, abs=0.01)


def test_oracle_over_many_sets() -> None:
    # The standard error of 20,000 sets is 0.0016.
    assert sample_mixtures(20_000, 100, seeded()).log_likelihood().mean().item() == pytest.approx(-1.4746, abs=0.005)


def test_shapes_and_ranges() -> None:
    mixtures = sample_mixtures(7, 50, seeded(), components=3, dim=5, spread=2.0, deviation=0.1)
    assert mixtures.points.shape == (7, 50, 5)
    assert mixtures.weights.shape == (7, 3)
    assert mixtures.means.shape == mixtures.deviations.shape == (7, 3, 5)
    assert mixtures.assignments.shape == (7, 50)
    assert torch.allclose(mixtures.weights.sum(-1), torch.ones(7))
    assert mixtures.means.abs().max() <= 2
    assert (mixtures.deviations == 0.1).all()


def test_points_lie_around_the_mean_they_are_assigned_to() -> None:
    mixtures = sample_mixtures(200, 400, seeded())
    own = mixtures.means.gather(1, mixtures.assignments.unsqueeze(-1).expand(-1, -1, 2))
    noise = mixtures.points - own
    assert noise.std().item() == pytest.approx(0.3, rel=0.01)
    assert abs(noise.mean().item()) < 0.005


def test_weights_are_uniform_on_the_simplex() -> None:
    weights = sample_mixtures(40_000, 1, seeded()).weights
    # Dirichlet(1, 1, 1, 1): mean 1/4, variance 3/80, and P(w > t) = (1 - t)^3.
    assert weights.mean(0) == pytest.approx([0.25] * 4, abs=0.005)
    assert weights.var(0) == pytest.approx([3 / 80] * 4, rel=0.05)
    assert (weights[:, 0] > 0.5).float().mean().item() == pytest.approx(1 / 8, abs=0.006)


def test_assignments_follow_the_weights() -> None:
    mixtures = sample_mixtures(3, 40_000, seeded())
    shares = torch.nn.functional.one_hot(mixtures.assignments, 4).float().mean(1)
    assert torch.allclose(shares, mixtures.weights, atol=0.01)


@pytest.mark.parametrize(("points", "low", "high"), [(PAPER_POINTS, 100, 499), (CODE_POINTS, 300, 599)])
def test_ranges_of_the_paper_and_of_the_code(points: tuple[int, int], low: int, high: int) -> None:
    generator = seeded()
    counts = [sample_mixtures(1, points, generator).points.shape[1] for _ in range(300)]
    assert low <= min(counts) < low + 20
    assert high - 20 < max(counts) <= high


def test_default_range_is_the_papers() -> None:
    default, paper = sample_mixtures(2, generator=seeded(3)), sample_mixtures(2, (100, 500), seeded(3))
    assert torch.equal(default.points, paper.points)


def test_seed_fixes_everything() -> None:
    first, again, other = (sample_mixtures(4, PAPER_POINTS, seeded(seed)) for seed in (5, 5, 6))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not torch.equal(first.means, other.means)
    a, b = fixed_mixtures(20), fixed_mixtures(20)
    assert all(torch.equal(x.points, y.points) for x, y in zip(a, b, strict=True))


def test_fixed_mixtures_keeps_the_last_smaller_batch() -> None:
    assert [len(batch.points) for batch in fixed_mixtures(23, 5)] == [10, 10, 3]


def test_log_likelihood_equals_torch_distributions() -> None:
    torch.manual_seed(0)
    weights = torch.rand(3, 4, dtype=torch.float64)
    weights = weights / weights.sum(-1, keepdim=True)
    means = torch.randn(3, 4, 2, dtype=torch.float64)
    deviations = torch.rand(3, 4, 2, dtype=torch.float64) + 0.1
    points = torch.randn(3, 11, 2, dtype=torch.float64)
    for i in range(3):
        reference = MixtureSameFamily(Categorical(weights[i]), Independent(Normal(means[i], deviations[i]), 1))
        expected = reference.log_prob(points[i]).mean()
        found = mixture_log_likelihood(points, weights, means, deviations)[i]
        assert found.item() == pytest.approx(expected.item(), rel=1e-12)


def test_log_likelihood_is_differentiable_and_finite_far_away() -> None:
    weights = torch.full((1, 2), 0.5, requires_grad=True)
    means = torch.zeros(1, 2, 2, requires_grad=True)
    deviations = torch.full((1, 2, 2), 0.3, requires_grad=True)
    value = mixture_log_likelihood(torch.full((1, 3, 2), 100.0), weights, means, deviations)
    assert math.isfinite(value.item())
    value.sum().backward()
    for parameter in (weights, means, deviations):
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()
    assert (means.grad > 0).all()  # towards the points


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"sets": 0}, "sets"),
        ({"sets": 2, "points": 0}, "points"),
        ({"sets": 2, "points": (5, 5)}, "points"),
        ({"sets": 2, "points": (0, 5)}, "points"),
        ({"sets": 2, "components": 0}, "components"),
        ({"sets": 2, "deviation": -1.0}, "deviation"),
        ({"sets": 2, "spread": math.nan}, "spread"),
    ],
)
def test_bad_arguments_are_named(options: dict, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        sample_mixtures(**options)


def test_bad_shapes_are_named() -> None:
    points, weights, means, deviations, _ = sample_mixtures(2, 5)
    with pytest.raises(ValueError, match=r"^points: expected shape"):
        mixture_log_likelihood(points[0], weights, means, deviations)
    with pytest.raises(ValueError, match=r"^weights: expected shape"):
        mixture_log_likelihood(points, weights[:1], means, deviations)
    with pytest.raises(ValueError, match=r"^means: expected shape \(2, 4, 2\)"):
        mixture_log_likelihood(points, weights, means[:, :3], deviations)
    with pytest.raises(ValueError, match=r"^deviations: expected shape"):
        mixture_log_likelihood(points, weights, means, deviations[..., :1])
