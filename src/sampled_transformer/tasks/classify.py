"""Classification of sets as a LightningModule: the loss, the optimiser, the schedule and the figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from lightning.pytorch import LightningModule
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torchmetrics.classification import MulticlassConfusionMatrix

from ..data import Batch
from .loading import CYCLES, derive
from .metrics import accuracies
from .options import OptimiserOptions

ONE_CYCLE_RISE = 0.3  # of the run, from 1/25 of the rate; it ends at 1/250,000, as torch's OneCycleLR does
ONE_CYCLE_START, ONE_CYCLE_END = 1 / 25, 1 / 250_000
ONE_CYCLE_MOMENTUM = (0.95, 0.85)  # where the rate is lowest and where it is highest, as in torch's OneCycleLR


class Classify(LightningModule):
    """Cross-entropy on batches of points and labels.

    Args:
        network: called as network(points, normals); gives logits.
        classes: number of classes.
        optimiser: how the weights are moved.
        seed: what is random in a training step, cycles and dropout, follows from it and the number of the step.
        splits: names of the splits evaluated after each epoch.
    """

    def __init__(
        self,
        network: nn.Module,
        classes: int,
        optimiser: OptimiserOptions,
        seed: int = 0,
        splits: tuple[str, ...] = ("test",),
    ) -> None:
        super().__init__()
        self.network, self.optimiser, self.seed, self.splits = network, optimiser, seed, splits
        self.totals = torch.zeros(3)  # loss, right answers, shapes; no buffer, which half precision would round
        # No validate_args: it would look at every batch's values, for which a GPU has to wait.
        self.matrices = nn.ModuleDict(
            {name: MulticlassConfusionMatrix(classes, ignore_index=-1, validate_args=False) for name in splits}
        )

    def confusion(self, split: str) -> MulticlassConfusionMatrix:
        return cast(MulticlassConfusionMatrix, self.matrices[split])

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        torch.manual_seed(derive(self.seed, CYCLES, self.global_step, self.global_rank))
        if self.optimiser.schedule == "one-cycle":
            value = self.momentum(self.global_step)
            for group in cast(torch.optim.Optimizer, self.optimizers(use_pl_optimizer=False)).param_groups:
                group.update({"momentum": value} if "momentum" in group else {"betas": (value, group["betas"][1])})

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        assert batch.labels is not None
        logits = self.network(batch.points, batch.normals)
        loss = cross_entropy(logits.float(), batch.labels, label_smoothing=self.optimiser.label_smoothing)
        count = len(batch.labels)
        right = (logits.argmax(1) == batch.labels).sum()
        step = torch.stack([loss.detach() * count, right.to(loss), loss.new_tensor(count)])
        self.totals = self.totals.to(step.device) + step
        return loss

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["totals"] = self.totals.tolist()  # an interrupted epoch still has the figures of all its steps

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.totals = torch.tensor(checkpoint["totals"])

    def take_totals(self) -> dict[str, float]:
        """Mean loss and accuracy of the epoch over all processes; the next one begins at zero."""
        loss, right, count = self.trainer.strategy.reduce(self.totals, reduce_op="sum").tolist()
        self.totals = torch.zeros(3)
        return {"train_loss": loss / count, "train_accuracy": right / count}

    def on_validation_epoch_start(self) -> None:
        for split in self.splits:
            self.confusion(split).reset()

    def validation_step(self, batch: Batch, batch_idx: int, dataloader_idx: int = 0) -> None:
        assert batch.labels is not None
        logits = self.network(batch.points, batch.normals)
        self.confusion(self.splits[dataloader_idx]).update(logits.argmax(1), batch.labels)

    def figures(self) -> dict[str, float]:
        """Accuracies of the last evaluation, named after their split."""
        return {
            f"{split}_{name}": value
            for split in self.splits
            for name, value in accuracies(self.confusion(split).compute()).items()
        }

    def configure_optimizers(self) -> Any:
        optimiser = make_optimiser(self.network, self.optimiser)
        total = int(self.trainer.estimated_stepping_batches)
        per_epoch = total / (self.trainer.max_epochs or 1)
        factor = schedule(self.optimiser, total, per_epoch)
        self.momentum = one_cycle_momentum(self.optimiser, total, per_epoch)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, factor)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def make_optimiser(network: nn.Module, options: OptimiserOptions) -> torch.optim.Optimizer:
    if options.name == "sgd":
        return torch.optim.SGD(
            network.parameters(), lr=options.rate, momentum=0.9, weight_decay=options.weight_decay, nesterov=True
        )
    kind = torch.optim.AdamW if options.name == "adamw" else torch.optim.Adam
    return kind(network.parameters(), lr=options.rate, weight_decay=options.weight_decay)


def schedule(options: OptimiserOptions, total: int, per_epoch: float) -> Callable[[int], float]:
    """The factor of the learning rate at each of `total` steps; it has no state, so a run may go on longer."""
    one_cycle = options.schedule == "one-cycle"
    rise = _rise(options, total, per_epoch)

    def factor(step: int) -> float:
        if step < rise:
            share = step / rise if one_cycle else (step + 1) / (rise + 1)
            return _cosine(ONE_CYCLE_START, 1, share) if one_cycle else share
        share = min(1.0, (step - rise) / max(1, total - 1 - rise))
        if one_cycle:
            return _cosine(1, ONE_CYCLE_END, share)
        if options.schedule == "cosine":
            return _cosine(1, 0, share)
        if options.schedule == "step":
            return options.decay ** (step // per_epoch // options.decay_epochs)
        return 1.0

    return factor


def one_cycle_momentum(options: OptimiserOptions, total: int, per_epoch: float) -> Callable[[int], float]:
    """Momentum, or Adam's first beta, at each step of "one-cycle": low while the rate is high."""
    rise = _rise(options, total, per_epoch)
    high, low = ONE_CYCLE_MOMENTUM

    def momentum(step: int) -> float:
        if step < rise:
            return _cosine(high, low, step / rise)
        return _cosine(low, high, min(1.0, (step - rise) / max(1, total - 1 - rise)))

    return momentum


def _rise(options: OptimiserOptions, total: int, per_epoch: float) -> float:
    """Steps of rising rate."""
    usual = ONE_CYCLE_RISE * total if options.schedule == "one-cycle" else 0
    return min(usual if options.warmup is None else options.warmup * per_epoch, total - 1)


def _cosine(begin: float, end: float, share: float) -> float:
    return end + (begin - end) * (1 + math.cos(math.pi * share)) / 2
