"""What tasks with classes share: sums over an epoch, a confusion matrix per split, and figures from these."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torchmetrics.classification import MulticlassConfusionMatrix

from .settings import OptimiserOptions
from .task import DIVERGED, Task


class ClassTask(Task):
    """Counts which class was taken for which, over the shapes or points of each split. Label -1 does not count.

    Args:
        network: Returns one row of logits per shape or point.
        classes: Number of classes.
        optimiser: Optimiser and learning-rate schedule.
        seed: Randomness of a training step follows from it and the number of the step.
        splits: Names of the splits to evaluate after each epoch.
    """

    def __init__(
        self,
        network: nn.Module,
        classes: int,
        optimiser: OptimiserOptions,
        seed: int = 0,
        splits: tuple[str, ...] = ("test",),
    ) -> None:
        super().__init__(network, optimiser, seed, sums=3)  # loss, right answers, shapes or points
        self.splits = splits
        # validate_args would read the values of every batch, and a GPU would have to wait for that.
        self.matrices = nn.ModuleDict(
            {name: MulticlassConfusionMatrix(classes, ignore_index=-1, validate_args=False) for name in splits}
        )
        self.finite = torch.ones((), dtype=torch.bool)  # whether all answers of this evaluation are

    @staticmethod
    def measure(confusion: Tensor) -> dict[str, float]:
        """Figures by name, from a confusion matrix."""
        raise NotImplementedError

    def confusion(self, split: str) -> MulticlassConfusionMatrix:
        return cast(MulticlassConfusionMatrix, self.matrices[split])

    def take_totals(self) -> dict[str, float]:
        """Mean loss and accuracy of the epoch; resets the totals."""
        loss, right, count = self.summed()
        return {"train_loss": loss / count, "train_accuracy": right / count}

    def on_validation_epoch_start(self) -> None:
        self.share_buffers()
        for split in self.splits:
            self.confusion(split).reset()
        self.finite = torch.ones((), dtype=torch.bool, device=self.device)

    def count_answers(self, scores: Tensor, labels: Tensor, split: str) -> None:
        """Add rows of logits or probabilities, (rows, classes), to the confusion matrix of a split."""
        self.finite &= scores.isfinite().all()  # read once all batches are done, so that a GPU need not wait
        self.confusion(split).update(scores.argmax(1), labels)

    def figures(self) -> dict[str, float]:
        """Figures of the last evaluation, named by split."""
        if not self.finite:
            raise ValueError(f"answers are {DIVERGED}")
        return {
            f"{split}_{name}": value
            for split in self.splits
            for name, value in self.measure(self.confusion(split).compute()).items()
        }

    def confusion_rows(self) -> list[list[int]]:
        """The confusion matrix of the test split; a row per true class."""
        return self.confusion("test").compute().tolist() if "test" in self.splits else []
