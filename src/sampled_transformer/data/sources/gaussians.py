"""Sets of points drawn from random Gaussian mixtures, for amortised clustering (paper appendix app:clustering).

The mixtures follow Lee et al., "Set Transformer" (ICML 2019): 4 components in the plane, means U(-4, 4), standard
deviation 0.3, weights Dirichlet(1). All sets in a batch have the same size, drawn from a range [low, high).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

#: Our paper and the paper of Lee et al.: n ~ Unif[100, 500). This is the default.
PAPER_POINTS = (100, 500)
#: The code of Lee et al.: randint(300, 600).
CODE_POINTS = (300, 600)
#: The oracle likelihood of 1,000 sets varies by 0.007 between seeds. With this seed it is -1.474: within a fifth of
#: that variation from the mean over all mixtures (-1.475) and from the sets of Lee et al. (-1.473). Our figures are
#: therefore comparable with published ones.
FIXED_SEED = 4


class Mixtures(NamedTuple):
    """A batch of sets and the mixtures that generated them (K components, D dimensions)."""

    points: Tensor  # (sets, n, D)
    weights: Tensor  # (sets, K), each row sums to 1
    means: Tensor  # (sets, K, D)
    deviations: Tensor  # (sets, K, D), standard deviations
    assignments: Tensor  # (sets, n), the component each point came from

    def log_likelihood(self) -> Tensor:
        """Log-likelihood of each set under the mixture that generated it (the oracle), (sets,)."""
        return mixture_log_likelihood(self.points, self.weights, self.means, self.deviations)


def sample_mixtures(
    sets: int,
    points: int | tuple[int, int] = PAPER_POINTS,
    generator: torch.Generator | None = None,
    *,
    components: int = 4,
    dim: int = 2,
    spread: float = 4.0,
    deviation: float = 0.3,
    device: torch.device | str | None = None,
) -> Mixtures:
    """Draw `sets` mixtures and the same number of points from each: `points`, or one draw from [low, high).

    Means are uniform in (-spread, spread); all deviations equal `deviation`. The tensors are on `device` (default: the
    device of the generator).
    """
    _check_positive(sets=sets, components=components, dim=dim, spread=spread, deviation=deviation)
    if device is None and generator is not None:
        device = generator.device
    count = _draw_count(points, generator)
    # Dirichlet(1) is a vector of exponentials divided by their sum; torch's Dirichlet accepts no generator.
    weights = torch.empty(sets, components, device=device).exponential_(generator=generator)
    weights = weights / weights.sum(-1, keepdim=True)
    means = (torch.rand(sets, components, dim, generator=generator, device=device) * 2 - 1) * spread
    deviations = torch.full_like(means, deviation)
    assignments = torch.multinomial(weights, count, replacement=True, generator=generator)  # (sets, n)
    noise = torch.randn(sets, count, dim, generator=generator, device=device)
    chosen = assignments.unsqueeze(-1).expand(-1, -1, dim)
    return Mixtures(means.gather(1, chosen) + deviation * noise, weights, means, deviations, assignments)


def fixed_mixtures(
    sets: int = 1000, points: int | tuple[int, int] = PAPER_POINTS, *, batch: int = 10, seed: int = FIXED_SEED
) -> list[Mixtures]:
    """The test sets for LL0 and LL1: the same in every process, in batches of equal n."""
    _check_positive(sets=sets, batch=batch)
    generator = torch.Generator().manual_seed(seed)
    sizes = [min(batch, sets - start) for start in range(0, sets, batch)]
    return [sample_mixtures(size, points, generator) for size in sizes]


def mixture_log_likelihood(points: Tensor, weights: Tensor, means: Tensor, deviations: Tensor) -> Tensor:
    """Mean log-likelihood per point under diagonal Gaussian mixtures, (sets,); Eq. eq:log_likelihood divided by n.

        1/n sum_i log sum_k weight_k N(x_i; mean_k, diag(deviation_k^2))

    points (sets, n, D), weights (sets, K), means and deviations (sets, K, D); differentiable in all of them.
    """
    _check_shapes(points, weights, means, deviations)
    standardised = (points.unsqueeze(2) - means.unsqueeze(1)) / deviations.unsqueeze(1)  # (sets, n, K, D)
    normaliser = weights.log() - deviations.log().sum(-1) - 0.5 * points.shape[-1] * math.log(2 * math.pi)  # (sets, K)
    return torch.logsumexp(normaliser.unsqueeze(1) - 0.5 * standardised.square().sum(-1), dim=-1).mean(-1)


def _draw_count(points: int | tuple[int, int], generator: torch.Generator | None) -> int:
    if not isinstance(points, tuple | list):
        _check_positive(points=points)
        return int(points)
    low, high = points
    if not 0 < low < high:
        raise ValueError(f"points: expected a number or a range (low, high) with 0 < low < high, got {points}")
    device = None if generator is None else generator.device
    return int(torch.randint(low, high, (), generator=generator, device=device))


def _check_positive(**values: float) -> None:
    for name, value in values.items():
        if not (value > 0 and math.isfinite(value)):
            raise ValueError(f"{name}: expected a positive number, got {value}")


def _check_shapes(points: Tensor, weights: Tensor, means: Tensor, deviations: Tensor) -> None:
    if points.ndim != 3 or points.shape[1] == 0:
        raise ValueError(f"points: expected shape (sets, n, D) with n > 0, got {tuple(points.shape)}")
    sets, _, dim = points.shape
    if weights.ndim != 2 or len(weights) != sets:
        raise ValueError(f"weights: expected shape ({sets}, K), got {tuple(weights.shape)}")
    expected = (sets, weights.shape[1], dim)
    for name, value in (("means", means), ("deviations", deviations)):
        if value.shape != expected:
            raise ValueError(f"{name}: expected shape {expected}, got {tuple(value.shape)}")
