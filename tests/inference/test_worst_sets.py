from __future__ import annotations

import torch

from sampled_transformer.inference import worst_sets
from sampled_transformer.inference.worst_sets import MOST_POINTS, WorstSets

PTR = torch.tensor([0, 2, 4, 6])


def test_the_worst_sets_of_all_batches_are_kept_worst_first() -> None:
    worst, points = WorstSets(most=2), torch.arange(18.0).view(6, 3)
    labels = torch.tensor([0, 1, 0, 1, -1, -1])  # the third set has no labels
    worst.add(points, labels, torch.tensor([0, 1, 0, 0, 1, 1]), PTR, 2)  # right, half right
    assert [(one.number, one.iou, one.right) for one in worst.sets] == [(1, 0.25, 0.5), (0, 1.0, 1.0)]
    worst.add(points, torch.tensor([0, 0, 1, 1, 0, 1]), torch.tensor([1, 1, 1, 1, 0, 0]), PTR, 2)
    assert [(one.number, one.iou) for one in worst.sets] == [(3, 0.0), (1, 0.25)]
    kept = worst.sets[1]
    assert kept.points.tolist() == points[2:4].tolist()
    assert (kept.truth.tolist(), kept.answers.tolist()) == ([0, 1], [0, 0])


def test_of_a_large_set_some_points_are_kept_and_all_are_counted() -> None:
    worst, count = WorstSets(), MOST_POINTS + 1000
    answers = torch.zeros(count, dtype=torch.int64)
    answers[: count // 2] = 1
    worst.add(torch.rand(count, 3), torch.zeros(count, dtype=torch.int64), answers, torch.tensor([0, count]), 2)
    assert worst.sets[0].right == 0.5
    assert len(worst.sets[0].points) == len(worst.sets[0].truth) == worst_sets.MOST_POINTS
