"""The confusion matrix of a classifier, and the accuracies that follow from it.

Rows are true classes, columns are answers.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def confusion_counts(labels: Tensor, scores: Tensor, classes: int) -> Tensor:
    """Count the answers, (classes, classes): entry (i, j) is the number of shapes of class i classified as j.

    `scores` (shapes, classes) are logits or probabilities; the answer is the class with the highest score.
    """
    pairs = labels * classes + scores.argmax(1)
    return pairs.bincount(minlength=classes**2).view(classes, classes)


def accuracies(confusion: Tensor) -> dict[str, float]:
    """Overall accuracy, and the mean accuracy over the classes that have shapes; both from 0 to 1."""
    confusion = confusion.cpu()  # not every device has double precision
    counts, right = confusion.sum(1).double(), confusion.diagonal().double()
    has_shapes = counts > 0
    return {
        "accuracy": float(right.sum() / counts.sum()),
        "mean_class_accuracy": float((right[has_shapes] / counts[has_shapes]).mean()),
    }


def confused_pairs(confusion: Tensor, classes: Sequence[str], most: int = 10) -> list[tuple[str, str, int]]:
    """The most frequent mistakes: true class, answer, count."""
    wrong = confusion.clone().fill_diagonal_(0).flatten()
    order = wrong.argsort(descending=True, stable=True)[:most].tolist()
    width = len(classes)
    return [(classes[i // width], classes[i % width], int(wrong[i])) for i in order if wrong[i] > 0]
