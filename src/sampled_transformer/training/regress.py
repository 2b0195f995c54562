"""Regression: predict a number for each shape; loss and figures."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import huber_loss

from ..data import Batch
from ..inference.target import Target, error_figures, error_sums
from .settings import OptimiserOptions
from .task import DIVERGED, Task


class Regress(Task):
    """Minimises the Huber loss on batches of points and numbers in standard units.

    loss(error) = error^2 / 2 up to |error| = 1, one standard deviation, and |error| - 1/2 from there on, so that a few
    wild labels do not decide the weights. Figures are in the target's own unit.

    Args:
        network: Called as network(points, normals); returns (batch, 1).
        target: What the numbers are.
        optimiser: Optimiser and learning-rate schedule.
        seed: Cycles and dropout of a training step follow from it and the number of the step.
        splits: Names of the splits to evaluate after each epoch.
    """

    score = "r2"

    def __init__(
        self,
        network: nn.Module,
        target: Target,
        optimiser: OptimiserOptions,
        seed: int = 0,
        splits: tuple[str, ...] = ("test",),
    ) -> None:
        super().__init__(network, optimiser, seed, sums=3)  # loss, absolute error, shapes
        self.target, self.splits = target, splits
        self.errors: dict[str, Tensor] = {}  # by split, of this evaluation

    def notes(self) -> dict[str, Any]:
        return self.target.notes()

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        assert batch.labels is not None
        answers = self.network(batch.points, batch.normals).float().squeeze(1)
        loss = huber_loss(answers, batch.labels)
        error = (answers.detach() - batch.labels).abs().sum()
        self.add_to_totals(loss.detach() * len(answers), error, loss.new_tensor(len(answers)))
        return loss

    def take_totals(self) -> dict[str, float]:
        """Mean loss and mean absolute error of the epoch; resets the totals."""
        loss, error, count = self.summed()
        return {"train_loss": loss / count, "train_mae": self.target.deviation * error / count}

    def on_validation_epoch_start(self) -> None:
        self.share_buffers()
        self.errors = {}

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        assert batch.labels is not None
        split = self.splits[dataloader_idx]
        sums = error_sums(self.network(batch.points, batch.normals).float().squeeze(1), batch.labels)
        self.errors[split] = sums + self.errors[split] if split in self.errors else sums

    def figures(self) -> dict[str, float]:
        """Errors of the last evaluation, named by split."""
        figures: dict[str, float] = {}
        for split in self.splits:
            sums = self.trainer.strategy.reduce(self.errors[split].clone(), reduce_op="sum")
            assert isinstance(sums, Tensor)
            if not torch.isfinite(sums).all():
                raise ValueError(f"answers are {DIVERGED}")
            found = error_figures(sums, self.target.deviation)
            figures |= {f"{split}_{name}": value for name, value in found.items()}
        return figures

    def shown(self, row: dict[str, float]) -> list[str]:
        return [f"train MAE {row['train_mae']:.4g}", *(f"{one} R2 {row[f'{one}_r2']:.4f}" for one in self.splits)]
