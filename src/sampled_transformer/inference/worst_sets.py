"""The sets of a split whose points a network labels worst, kept while it is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor

from .iou import set_ious

MOST_POINTS = 4000  # kept of a set


@dataclass(frozen=True)
class LabelledSet:
    """Points of a set, their true classes and the answers."""

    number: int  # in its split
    iou: float  # mean over the classes of the set
    right: float  # the share of its labelled points that are right
    points: np.ndarray  # (n, 3), as the network saw them; at most MOST_POINTS
    truth: np.ndarray  # (n,)
    answers: np.ndarray  # (n,)


@dataclass
class WorstSets:
    """The sets with the lowest mean IoU among all that were added, worst first."""

    most: int = 3
    sets: list[LabelledSet] = field(default_factory=list)
    _seen: int = 0

    def add(self, points: Tensor, labels: Tensor, answers: Tensor, ptr: Tensor, classes: int) -> None:
        """Look at the next sets of the split: points (total, 3), labels and answers (total,), ptr (sets + 1,)."""
        ious = set_ious(labels, answers, ptr, classes).tolist()
        for place, iou in enumerate(ious):
            low, high = int(ptr[place]), int(ptr[place + 1])
            full = len(self.sets) == self.most
            if math.isnan(iou) or (full and iou >= self.sets[-1].iou):  # a set without labels has no IoU
                continue
            self.sets = self.sets[: self.most - 1]
            known = labels[low:high] >= 0
            right = float((answers[low:high] == labels[low:high])[known].double().mean())
            rows = _some(high - low)
            parts = (values[low:high][rows].numpy().copy() for values in (points, labels, answers))
            self.sets.append(LabelledSet(self._seen + place, iou, right, *parts))
            self.sets.sort(key=lambda one: (one.iou, one.number))
        self._seen += len(ious)


def _some(count: int) -> np.ndarray:
    if count <= MOST_POINTS:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, MOST_POINTS, replace=False))
