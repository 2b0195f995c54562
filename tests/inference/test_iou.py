"""Intersection over union against sets of indices."""

from __future__ import annotations

import math

import pytest
import torch

from sampled_transformer.inference.iou import class_ious, iou_figures, per_class, point_confusion, set_ious

CLASSES = 4


def example(count: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    """Labels from -1 to 2 and answers from 0 to 3: nobody has the label 3."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(-1, 3, (count,), generator=generator), torch.randint(0, 4, (count,), generator=generator)


def slow_iou(labels: torch.Tensor, answers: torch.Tensor, number: int) -> float:
    pairs = [(label, answer) for label, answer in zip(labels.tolist(), answers.tolist(), strict=True) if label >= 0]
    true = {row for row, (label, _) in enumerate(pairs) if label == number}
    found = {row for row, (_, answer) in enumerate(pairs) if answer == number}
    return len(true & found) / len(true | found) if true | found else math.nan


def test_figures_are_those_of_sets_of_points() -> None:
    labels, answers = example()
    confusion = point_confusion(labels, answers, CLASSES)
    ious = [slow_iou(labels, answers, number) for number in range(3)]
    assert class_ious(confusion)[:3].tolist() == pytest.approx(ious)
    assert math.isnan(class_ious(confusion)[3])  # nobody has this label, whatever the answers
    known = labels >= 0
    figures = iou_figures(confusion)
    assert figures["mean_iou"] == pytest.approx(sum(ious) / 3)
    assert figures["accuracy"] == pytest.approx(float((labels == answers)[known].double().mean()))
    assert int(confusion.sum()) == int(known.sum())
    assert int(confusion[1, 2]) == int(((labels == 1) & (answers == 2)).sum())


def test_right_and_wrong_answers() -> None:
    labels = torch.tensor([0, 0, 1, 1, -1])
    assert iou_figures(point_confusion(labels, torch.tensor([0, 0, 1, 1, 0]), 2)) == {"mean_iou": 1, "accuracy": 1}
    assert iou_figures(point_confusion(labels, torch.tensor([1, 1, 0, 0, 0]), 2)) == {"mean_iou": 0, "accuracy": 0}


def test_points_to_ignore_alone_have_no_figures() -> None:
    nothing = point_confusion(torch.full((5,), -1), torch.zeros(5, dtype=torch.int64), 2)
    with pytest.raises(ValueError, match="labels: expected at least 1 point with a class, got none"):
        iou_figures(nothing)


def test_one_row_per_class() -> None:
    labels, answers = example()
    rows = per_class(point_confusion(labels, answers, CLASSES), ["a", "b", "c", "d"])
    assert [row["class"] for row in rows] == ["a", "b", "c", "d"]
    assert rows[1] == {
        "class": "b",
        "points": int((labels == 1).sum()),
        "iou": pytest.approx(slow_iou(labels, answers, 1)),
    }
    assert rows[3] == {"class": "d", "points": 0, "iou": None}


def test_sets_have_the_mean_over_their_classes() -> None:
    labels, answers = example()
    labels[150:170] = -1
    ptr = torch.tensor([0, 50, 50, 150, 170, 200])
    found = set_ious(labels, answers, ptr, CLASSES)
    for number in range(5):
        own = slice(int(ptr[number]), int(ptr[number + 1]))
        ious = [slow_iou(labels[own], answers[own], one) for one in range(CLASSES)]
        ious = [iou for iou in ious if not math.isnan(iou)]
        if number in (1, 3):
            assert math.isnan(found[number])
        else:
            assert float(found[number]) == pytest.approx(sum(ious) / len(ious))


def test_with_the_parts_of_a_kind_a_part_that_is_nowhere_counts_as_right() -> None:
    labels, answers = torch.tensor([0, 0, 1, 2]), torch.tensor([0, 1, 1, 2])
    ptr, parts = torch.tensor([0, 3, 4]), torch.tensor([[True, True, False, True], [False, False, True, False]])
    # The first set: 1/2 and 1/2 for its two parts, 1 for the one that neither has.
    assert set_ious(labels, answers, ptr, CLASSES, parts).tolist() == pytest.approx([2 / 3, 1.0])
