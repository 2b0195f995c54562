"""Confusion counts and accuracies, by hand."""

import pytest
import torch

from sampled_transformer.inference.metrics import accuracies, confused_pairs, confusion_counts

LABELS = torch.tensor([0, 0, 0, 1, 1, 3])
ANSWERS = torch.tensor([0, 1, 1, 1, 3, 3])
SCORES = torch.nn.functional.one_hot(ANSWERS, 4).double()


def test_rows_are_true_classes_and_columns_answers() -> None:
    counts = confusion_counts(LABELS, SCORES, 4)
    assert counts.tolist() == [[1, 2, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 0, 0, 1]]
    logits = 10 * SCORES - 3  # any scores with the same order give the same counts
    assert torch.equal(confusion_counts(LABELS, logits, 4), counts)


def test_no_shapes_give_no_counts() -> None:
    assert confusion_counts(LABELS[:0], SCORES[:0], 4).tolist() == [[0] * 4] * 4


def test_a_class_without_shapes_does_not_count_in_the_mean() -> None:
    found = accuracies(confusion_counts(LABELS, SCORES, 4))
    assert found["accuracy"] == pytest.approx(3 / 6)
    assert found["mean_class_accuracy"] == pytest.approx((1 / 3 + 1 / 2 + 1) / 3)


def test_mistakes_are_ordered_by_frequency_and_right_answers_left_out() -> None:
    counts = confusion_counts(LABELS, SCORES, 4)
    assert confused_pairs(counts, "abcd") == [("a", "b", 2), ("b", "d", 1)]
    assert confused_pairs(counts, "abcd", most=1) == [("a", "b", 2)]
    assert counts.diagonal().sum() == 3  # the matrix itself is not changed
