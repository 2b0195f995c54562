"""Figures of labelled points: intersection over union per class, their mean, and per set.

Rows of a confusion matrix are true classes, columns are answers. Points with the label -1 do not count.

    IoU_c = |label = c and answer = c| / |label = c or answer = c|
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..sets import segments


def point_confusion(labels: Tensor, answers: Tensor, classes: int) -> Tensor:
    """Count the answers to points with a label, (classes, classes)."""
    known = labels >= 0
    pairs = labels[known] * classes + answers[known]
    return pairs.bincount(minlength=classes**2).view(classes, classes)


def class_ious(confusion: Tensor) -> Tensor:
    """IoU per class in float64, (classes,); NaN for a class that no point has, whatever the answers."""
    confusion = confusion.cpu().double()
    both, true = confusion.diagonal(), confusion.sum(1)
    union = true + confusion.sum(0) - both
    return torch.where(true > 0, both / union, torch.nan)


def iou_figures(confusion: Tensor) -> dict[str, float]:
    """Mean IoU over the classes that have points, and the share of points with the right answer; both from 0 to 1."""
    ious = class_ious(confusion)
    confusion = confusion.cpu().double()
    if not confusion.sum():
        raise ValueError("labels: expected at least 1 point with a class, got none")
    return {
        "mean_iou": float(ious.nanmean()),
        "accuracy": float(confusion.diagonal().sum() / confusion.sum()),
    }


def set_ious(labels: Tensor, answers: Tensor, ptr: Tensor, classes: int, parts: Tensor | None = None) -> Tensor:
    """Mean IoU of every set over its classes, (sets,); NaN for a set without labels.

    Args:
        labels, answers: (total,).
        ptr: (sets + 1,).
        classes: Number of classes.
        parts: (sets, classes), which classes a set of its kind can have. A class that neither labels nor answers have
            counts as 1, as for ShapeNetPart. Without it the classes of a set are those of its labels and answers.
    """
    number = segments(ptr, len(labels))
    known = labels >= 0
    sets = len(ptr) - 1

    def count(values: Tensor, where: Tensor) -> Tensor:
        found = (number[where] * classes + values[where]).bincount(minlength=sets * classes)
        return found.view(sets, classes).double()

    both = count(labels, known & (labels == answers))
    union = count(labels, known) + count(answers, known) - both
    counted = union > 0 if parts is None else parts
    ious = torch.where(union > 0, both / union.clamp(min=1), 1.0)
    total = counted.sum(1)
    labelled = torch.bincount(number[known], minlength=sets) > 0
    return torch.where(labelled & (total > 0), (ious * counted).sum(1) / total.clamp(min=1), torch.nan)


def per_class(confusion: Tensor, classes: Sequence[str]) -> list[dict[str, Any]]:
    """One row per class: name, points, IoU (None without points)."""
    rows = zip(classes, confusion.sum(1).tolist(), class_ious(confusion).tolist(), strict=True)
    return [{"class": name, "points": int(count), "iou": iou if count else None} for name, count, iou in rows]
