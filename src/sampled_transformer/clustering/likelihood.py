"""Diagonal Gaussian mixtures for many sets at once: log-likelihood (Eq. eq:log_likelihood), assignment, EM."""

from __future__ import annotations

import math
import warnings
from importlib.util import find_spec
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ..models.mixture import Mixture

Covariance = Literal["diagonal", "spherical", "full"]
#: An EM step adds this to the variances, as scikit-learn does.
VARIANCE_FLOOR = 1e-6
SCIKIT_NAMES = {"diagonal": "diag", "spherical": "spherical", "full": "full"}


def log_joint(points: Tensor, mixture: Mixture) -> Tensor:
    """log(weight_j N(x_i; mean_j, deviation_j)) for every point and component, (sets, n, K)."""
    log_weights, means, deviations = mixture
    standardised = (points.unsqueeze(2) - means.unsqueeze(1)) / deviations.unsqueeze(1)  # (sets, n, K, D)
    normaliser = log_weights - deviations.log().sum(-1) - 0.5 * points.shape[-1] * math.log(2 * math.pi)
    return normaliser.unsqueeze(1) - 0.5 * standardised.square().sum(-1)


def log_likelihood(points: Tensor, mixture: Mixture, mask: Tensor | None = None) -> Tensor:
    """Mean log-likelihood per point of each set, (sets,): Eq. eq:log_likelihood divided by n.

        1/n sum_i log sum_j weight_j N(x_i; mean_j, deviation_j)

    It is 0 for a set without points.
    """
    each = log_joint(points, mixture).logsumexp(-1)
    if mask is None:
        return each.mean(-1) if points.shape[1] else each.sum(-1)
    return each.masked_fill(~mask, 0).sum(-1) / mask.sum(-1).clamp(min=1)


def assign(points: Tensor, mixture: Mixture) -> Tensor:
    """The likeliest component of each point, (sets, n)."""
    return log_joint(points, mixture).argmax(-1)


def em_step(points: Tensor, mixture: Mixture) -> Mixture:
    """One step of expectation-maximisation with diagonal covariances, for all sets at once (n >= 1).

    share_ij = weight_j N(x_i; mean_j, deviation_j) / sum_k weight_k N(x_i; mean_k, deviation_k)
    mean_j = sum_i share_ij x_i / sum_i share_ij,  and likewise the variances and weights
    """
    share = log_joint(points, mixture).softmax(-1)  # (sets, n, K)
    total = share.sum(1) + 10 * torch.finfo(share.dtype).eps  # keeps the mean finite if a component has no points
    means = torch.einsum("snk,snd->skd", share, points) / total.unsqueeze(-1)
    squares = (points.unsqueeze(2) - means.unsqueeze(1)).square()  # (sets, n, K, D)
    variances = torch.einsum("snk,snkd->skd", share, squares) / total.unsqueeze(-1)
    log_weights = (total / total.sum(-1, keepdim=True)).log()
    return Mixture(log_weights, means, (variances + VARIANCE_FLOOR).sqrt())


def scikit_log_likelihood(points: Tensor, mixture: Mixture, covariance: Covariance = "diagonal") -> np.ndarray:
    """LL1: the log-likelihood per point of each set after one EM step by scikit-learn, starting from the mixtures."""
    check_scikit()
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    if covariance not in SCIKIT_NAMES:
        raise ValueError(f"covariance: expected one of {', '.join(SCIKIT_NAMES)}, got {covariance!r}")
    scores = []
    mixture = mixture.double()
    weights = mixture.log_weights.exp()
    weights = weights / weights.sum(-1, keepdim=True)  # scikit-learn checks the sum more strictly than float32 allows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # we want exactly one step
        for number, one in enumerate(points.double().cpu().numpy()):
            start = GaussianMixture(
                weights.shape[1],
                covariance_type=SCIKIT_NAMES[covariance],
                weights_init=weights[number].cpu().numpy(),
                means_init=mixture.means[number].cpu().numpy(),
                precisions_init=_precisions(mixture.deviations[number].cpu().numpy(), covariance),
                reg_covar=VARIANCE_FLOOR,
                max_iter=1,
            )
            scores.append(start.fit(one).score(one))
    return np.array(scores)


def check_scikit() -> None:
    """Raise a ValueError if scikit-learn is missing. Call this before a long computation."""
    if find_spec("sklearn") is None:
        raise ValueError('scikit-learn is not installed: pip install "sampled-transformer[cluster]"')


def _precisions(deviations: np.ndarray, covariance: Covariance) -> np.ndarray:
    if covariance == "spherical":  # the common variance is the mean over the axes, as in scikit-learn
        return np.asarray(1 / (deviations**2).mean(1))
    precisions = deviations**-2.0  # (K, D)
    return precisions if covariance == "diagonal" else precisions[:, :, None] * np.eye(deviations.shape[1])
