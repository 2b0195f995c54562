"""How many clusters there are: a mixture with fewer components, merged from those that a network predicted.

A network always predicts as many components as it was trained with. If there are fewer heaps, some of them share one.
"""

from __future__ import annotations

import math
from itertools import combinations

import torch
from torch import Tensor

from ..models.mixture import Mixture
from .likelihood import log_joint

MOST_POINTS = 100_000  # that decide; more would only take longer
AUTO = "auto"


def check_number(clusters: int | str, components: int) -> None:
    """Raise a ValueError unless `clusters` is "auto", or a number up to the components of the network."""
    if clusters == AUTO:
        return
    if not isinstance(clusters, int) or isinstance(clusters, bool) or not 1 <= clusters <= components:
        raise ValueError(f"clusters: expected auto, or 1 to {components}, which these weights know, got {clusters}")


def with_clusters(points: Tensor, mixture: Mixture, clusters: int | str) -> Mixture:
    """The mixture with this many components; "auto" takes the number with the lowest criterion.

    Components are merged two by two, each time the two whose merging costs the least likelihood.

    Args:
        points: One set, (1, n, D).
        mixture: The mixture of that set, with K components.
        clusters: 1 to K, or "auto".
    """
    every = math.ceil(points.shape[1] / MOST_POINTS)
    points = points[:, ::every]
    found = [mixture]
    while found[-1].means.shape[1] > (1 if clusters == AUTO else int(clusters)):
        found.append(_with_one_less(points, found[-1]))
    return min(found, key=lambda one: criterion(points, one)) if clusters == AUTO else found[-1]


def criterion(points: Tensor, mixture: Mixture) -> float:
    """The integrated completed likelihood of a set as a cost; the lower, the better.

        -2 sum_i log p(x_i) + parameters log n - 2 sum_ij share_ij log share_ij

    The first two terms are the Bayesian information criterion. The last one is the entropy of the assignments, which is
    large if components overlap: so it counts heaps, and two components that describe one heap of odd form do not pay.
    """
    joint = log_joint(points, mixture)
    each = joint.logsumexp(-1, keepdim=True)
    entropy = torch.special.entr((joint - each).exp()).sum()
    _, components, dimension = mixture.means.shape
    parameters = components * (2 * dimension + 1) - 1
    return float(-2 * each.sum() + parameters * math.log(points.shape[1]) + 2 * entropy)


def merge(mixture: Mixture, one: int, two: int) -> Mixture:
    """Replace two components by the Gaussian with their common weight, mean and variances; it comes last.

        mean = p mean_1 + q mean_2,    variance = p variance_1 + q variance_2 + p q (mean_1 - mean_2)^2

    p and q are the shares of the two components in their weight.
    """
    pair, others = [one, two], [k for k in range(mixture.means.shape[1]) if k not in (one, two)]
    share = mixture.log_weights[:, pair].softmax(1).unsqueeze(-1)  # (sets, 2, 1)
    means, variances = mixture.means[:, pair], mixture.deviations[:, pair].square()
    apart = (means[:, :1] - means[:, 1:]).square() * share.prod(1, keepdim=True)
    merged = (
        mixture.log_weights[:, pair].logsumexp(1, keepdim=True),
        (share * means).sum(1, keepdim=True),
        ((share * variances).sum(1, keepdim=True) + apart).sqrt(),
    )
    return Mixture(*(torch.cat([part[:, others], new], 1) for part, new in zip(mixture, merged, strict=True)))


def _with_one_less(points: Tensor, mixture: Mixture) -> Mixture:
    candidates = [merge(mixture, *pair) for pair in combinations(range(mixture.means.shape[1]), 2)]
    return max(candidates, key=lambda one: float(log_joint(points, one).logsumexp(-1).sum()))
