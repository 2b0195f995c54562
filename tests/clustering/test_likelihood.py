from __future__ import annotations

import numpy as np
import pytest
import torch

from sampled_transformer.clustering.likelihood import assign, em_step, log_likelihood, scikit_log_likelihood
from sampled_transformer.data.sources.gaussians import mixture_log_likelihood, sample_mixtures
from sampled_transformer.models.mixture import Mixture


def sets(count: int = 3, points: int = 60, **options: object) -> tuple[torch.Tensor, Mixture]:
    """Points, and a mixture that differs from the one that generated them."""
    generator = torch.Generator().manual_seed(0)
    drawn = sample_mixtures(count, points, generator, **options)
    means = drawn.means.double() + 0.3 * torch.randn(drawn.means.shape, generator=generator, dtype=torch.float64)
    weights = (drawn.weights.double() + 0.1).log().log_softmax(-1)
    return drawn.points.double(), Mixture(weights, means, 1.5 * drawn.deviations.double())


def plain_step(x: np.ndarray, weights: np.ndarray, means: np.ndarray, deviations: np.ndarray) -> tuple:
    """One EM step, one point and one component at a time."""
    share = np.zeros((len(x), len(weights)))
    for i, point in enumerate(x):
        for j in range(len(weights)):
            z = (point - means[j]) / deviations[j]
            share[i, j] = weights[j] * np.prod(np.exp(-0.5 * z**2) / (deviations[j] * np.sqrt(2 * np.pi)))
        share[i] /= share[i].sum()
    total = share.sum(0)
    new = np.stack([(share[:, j, None] * x).sum(0) / total[j] for j in range(len(weights))])
    spread = [(share[:, j, None] * (x - new[j]) ** 2).sum(0) / total[j] + 1e-6 for j in range(len(weights))]
    return total / len(x), new, np.sqrt(np.stack(spread))


def test_log_likelihood_is_that_of_the_data() -> None:
    points, mixture = sets()
    expected = mixture_log_likelihood(points, mixture.log_weights.exp(), mixture.means, mixture.deviations)
    torch.testing.assert_close(log_likelihood(points, mixture), expected)


def test_padding_does_not_count() -> None:
    points, mixture = sets(2, 40)
    mask = torch.arange(40) < torch.tensor([[25], [0]])
    wide = torch.where(mask[..., None], points, 1e3)
    found = log_likelihood(wide, mixture, mask)
    torch.testing.assert_close(found[0], log_likelihood(points[:, :25], mixture)[0])
    assert found[1] == 0
    assert log_likelihood(points[:, :0], mixture).tolist() == [0, 0]


def test_no_weight_is_too_small_for_the_gradient() -> None:
    logits = torch.tensor([[0.0, -500.0]], requires_grad=True)
    mixture = Mixture(logits.log_softmax(-1), torch.zeros(1, 2, 2), torch.ones(1, 2, 2))
    log_likelihood(torch.randn(1, 5, 2), mixture).sum().backward()
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("options", [{}, {"dim": 3, "components": 2}, {"dim": 1}])
def test_em_step_is_the_plain_one(options: dict) -> None:
    points, mixture = sets(**options)
    found = em_step(points, mixture)
    for number in range(len(points)):
        start = (mixture.log_weights[number].exp(), mixture.means[number], mixture.deviations[number])
        weights, means, deviations = plain_step(points[number].numpy(), *(part.numpy() for part in start))
        np.testing.assert_allclose(found.log_weights[number].exp().numpy(), weights, rtol=1e-9)
        np.testing.assert_allclose(found.means[number].numpy(), means, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.deviations[number].numpy(), deviations, rtol=1e-9)


def test_em_steps_never_lower_the_likelihood() -> None:
    points, mixture = sets(10)
    value = log_likelihood(points, mixture)
    for _ in range(5):
        mixture = em_step(points, mixture)
        assert (log_likelihood(points, mixture) >= value - 1e-5).all()  # the variance floor costs a little
        value = log_likelihood(points, mixture)


def test_em_step_of_far_components_and_equal_points_is_finite() -> None:
    points = torch.zeros(1, 5, 2)
    mixture = Mixture(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[[0.0, 0.0], [1e4, 1e4]]]), torch.ones(1, 2, 2))
    assert all(part.isfinite().all() for part in em_step(points, mixture))


def test_scikit_learn_takes_the_same_step() -> None:
    pytest.importorskip("sklearn")
    points, mixture = sets(5)
    expected = log_likelihood(points, em_step(points, mixture))
    np.testing.assert_allclose(scikit_log_likelihood(points, mixture), expected.numpy(), rtol=1e-8)


def test_forms_of_the_covariance() -> None:
    pytest.importorskip("sklearn")
    points, mixture = sets(4, 200)
    diagonal, spherical, full = (
        scikit_log_likelihood(points, mixture, form).mean() for form in ("diagonal", "spherical", "full")
    )
    assert spherical < diagonal < full  # each form includes the one before; the start is the same
    with pytest.raises(ValueError, match="covariance: expected one of diagonal, spherical, full, got 'tied'"):
        scikit_log_likelihood(points, mixture, "tied")


def test_a_spherical_start_has_the_mean_variance() -> None:
    pytest.importorskip("sklearn")
    points, mixture = sets(4, 200)
    flat = mixture._replace(deviations=mixture.deviations * torch.tensor([0.3, 2.0]))
    even = flat._replace(deviations=flat.deviations.square().mean(-1, keepdim=True).sqrt().expand_as(flat.deviations))
    found = scikit_log_likelihood(points, flat, "spherical")
    np.testing.assert_allclose(found, scikit_log_likelihood(points, even, "spherical"), rtol=1e-9)


def test_points_are_assigned_to_their_component() -> None:
    drawn = sample_mixtures(2, 300, torch.Generator().manual_seed(0), deviation=0.01)
    found = assign(drawn.points, Mixture(drawn.weights.log(), drawn.means, drawn.deviations))
    assert torch.equal(found, drawn.assignments)
