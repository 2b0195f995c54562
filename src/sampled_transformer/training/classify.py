"""Classification of shapes: loss and figures."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torchmetrics.classification import MulticlassConfusionMatrix

from ..data import Batch
from ..inference.metrics import accuracies
from .settings import OptimiserOptions
from .task import DIVERGED, Task, make_optimiser, schedule

__all__ = ["Classify", "make_optimiser", "schedule"]


class Classify(Task):
    """Minimises the cross-entropy on batches of points and labels.

    Args:
        network: Called as network(points, normals); returns logits.
        classes: Number of classes.
        optimiser: Optimiser and learning-rate schedule.
        seed: Cycles and dropout of a training step follow from it and the number of the step.
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
        super().__init__(network, optimiser, seed, sums=3)  # loss, right answers, shapes
        self.splits = splits
        # validate_args would read the values of every batch, and a GPU would have to wait for that.
        self.matrices = nn.ModuleDict(
            {name: MulticlassConfusionMatrix(classes, ignore_index=-1, validate_args=False) for name in splits}
        )
        self.finite = torch.ones((), dtype=torch.bool)  # whether all answers of this evaluation are

    def confusion(self, split: str) -> MulticlassConfusionMatrix:
        return cast(MulticlassConfusionMatrix, self.matrices[split])

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        assert batch.labels is not None
        logits = self.network(batch.points, batch.normals)
        loss = cross_entropy(logits.float(), batch.labels, label_smoothing=self.optimiser.label_smoothing)
        count = len(batch.labels)
        right = (logits.argmax(1) == batch.labels).sum()
        self.add_to_totals(loss.detach() * count, right.to(loss), loss.new_tensor(count))
        return loss

    def take_totals(self) -> dict[str, float]:
        """Mean loss and accuracy of the epoch; resets the totals."""
        loss, right, count = self.summed()
        return {"train_loss": loss / count, "train_accuracy": right / count}

    def on_validation_epoch_start(self) -> None:
        self.share_buffers()
        for split in self.splits:
            self.confusion(split).reset()
        self.finite = torch.ones((), dtype=torch.bool, device=self.device)

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        assert batch.labels is not None
        logits = self.network(batch.points, batch.normals)
        self.finite &= logits.isfinite().all()  # read once all batches are done, so that a GPU need not wait
        self.confusion(self.splits[dataloader_idx]).update(logits.argmax(1), batch.labels)

    def figures(self) -> dict[str, float]:
        """Accuracies of the last evaluation, named by split."""
        if not self.finite:
            raise ValueError(f"answers are {DIVERGED}")
        return {
            f"{split}_{name}": value
            for split in self.splits
            for name, value in accuracies(self.confusion(split).compute()).items()
        }

    def confusion_rows(self) -> list[list[int]]:
        return self.confusion("test").compute().tolist()

    def shown(self, row: dict[str, float]) -> list[str]:
        return [f"{split} {100 * row[f'{split}_accuracy']:.2f} %" for split in ("train", *self.splits)]
