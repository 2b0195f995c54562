"""Accuracies out of a confusion matrix: rows are true classes, columns what the network said."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def accuracies(confusion: Tensor) -> dict[str, float]:
    """Overall accuracy, and the mean over the classes that have shapes, as shares."""
    confusion = confusion.cpu()  # not every device has double precision
    counts, right = confusion.sum(1).double(), confusion.diagonal().double()
    there = counts > 0
    return {
        "accuracy": float(right.sum() / counts.sum()),
        "mean_class_accuracy": float((right[there] / counts[there]).mean()),
    }


def confused_pairs(confusion: Tensor, classes: Sequence[str], most: int = 10) -> list[tuple[str, str, int]]:
    """The most frequent mistakes: true class, what the network said, how often."""
    wrong = confusion.clone().fill_diagonal_(0).flatten()
    order = wrong.argsort(descending=True, stable=True)[:most].tolist()
    width = len(classes)
    return [(classes[i // width], classes[i % width], int(wrong[i])) for i in order if wrong[i] > 0]
