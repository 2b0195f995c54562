"""Losses for labels per point that follow the IoU more closely than cross-entropy does. Points with -1 do not count."""

from __future__ import annotations

import torch
from torch import Tensor


def lovasz_loss(probabilities: Tensor, labels: Tensor) -> Tensor:
    """The Lovász extension of 1 - IoU, averaged over the classes that have points.

        error_i = |[label_i = c] - p_ic|, sorted in descending order
        loss_c = sum_i error_i (J_i - J_{i-1}),    J_i = 1 - IoU if the i points with the largest errors were wrong

    "The Lovász-Softmax loss", https://arxiv.org/abs/1705.08790, Eq. 8 and 9.

    Args:
        probabilities: (total, classes).
        labels: (total,).
    """
    known = labels >= 0
    probabilities, labels = probabilities[known], labels[known]
    losses = []
    for number in labels.unique().tolist():
        own = (labels == number).to(probabilities)
        error, order = (own - probabilities[:, number]).abs().sort(descending=True)
        sorted_own = own[order]
        left = sorted_own.sum() - sorted_own.cumsum(0)
        union = sorted_own.sum() + (1 - sorted_own).cumsum(0)
        jaccard = 1 - left / union
        losses.append((error * torch.diff(jaccard, prepend=jaccard.new_zeros(1))).sum())
    return torch.stack(losses).mean() if losses else probabilities.sum() * 0.0


def dice_loss(probabilities: Tensor, labels: Tensor) -> Tensor:
    """1 - 2 sum_i p_ic [label_i = c] / (sum_i p_ic + sum_i [label_i = c]), averaged over the classes that have points.

    "V-Net", https://arxiv.org/abs/1606.04797, with probabilities instead of their squares in the denominator.
    """
    known = labels >= 0
    probabilities, labels = probabilities[known], labels[known]
    one_hot = torch.nn.functional.one_hot(labels, probabilities.shape[1]).to(probabilities)
    present = one_hot.sum(0) > 0
    overlap = 2 * (probabilities * one_hot).sum(0) / (probabilities.sum(0) + one_hot.sum(0)).clamp(min=1e-12)
    return (1 - overlap)[present].mean() if bool(present.any()) else probabilities.sum() * 0.0


EXTRA_LOSSES = {"lovasz": lovasz_loss, "dice": dice_loss}
