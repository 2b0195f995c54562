"""Which points decide: the share of the pooled feature that comes from each point."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..randomness import cycle_seed
from .trained import in_evaluation

AVERAGED = ("hierarchical",)  # models whose pooled feature is a mean, not a maximum
NOT_POOLED = ("set-transformer",)  # models that read the points with further attention


def pooled_shares(features: Tensor, model: str) -> np.ndarray | None:
    """The share of the pooled feature that comes from each token, (tokens,) of features (tokens, d), or None.

    Of a maximum, the share of the features whose largest value the token has: the "critical points" of PointNet
    (https://arxiv.org/abs/1612.00593). Of a mean, the token's part of the sum of absolute values.
    """
    if model in NOT_POOLED or len(features) == 0:
        return None
    if model in AVERAGED:
        size = features.abs().sum(1)
        averaged: np.ndarray = (size / size.sum().clamp(min=1e-12)).cpu().numpy()
        return averaged
    counts = torch.bincount(features.argmax(0), minlength=len(features))
    shares: np.ndarray = (counts / features.shape[1]).cpu().numpy()
    return shares


@torch.inference_mode()
def critical_shares(
    network: nn.Module, model: str, points: Tensor, normals: Tensor | None = None, seed: int = 0
) -> np.ndarray | None:
    """The share of each point of one set (n, 3) in the pooled feature, in evaluation; None if the network has none.

    Points of a group share what the group gives.
    """
    asked: Any = network
    given = points[None], None if normals is None else normals[None]
    with in_evaluation(network), cycle_seed(network, seed):
        centres, features = asked.forward_points(*given)
    shares = pooled_shares(features[0], model)
    if shares is None:
        return None
    own = nearest(points.cpu().numpy(), centres[0].cpu().numpy())
    found: np.ndarray = shares[own] / np.bincount(own, minlength=len(shares))[own]
    return found


def nearest(positions: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """The number of the token nearest to every position, (n,); tokens may be the positions themselves."""
    if positions.shape == tokens.shape and np.array_equal(positions, tokens):
        return np.arange(len(positions))
    from scipy.spatial import cKDTree

    found: np.ndarray = cKDTree(tokens).query(positions)[1]
    return found
