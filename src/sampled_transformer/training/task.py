"""What all trainings share: the optimiser, its schedule, the seed of each step, and sums over an epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, cast

import torch
from lightning.pytorch import LightningModule
from torch import distributed, nn

from ..data import Batch
from .loading import CYCLES, derive
from .settings import OptimiserOptions

# As in torch's OneCycleLR: the rate rises from 1/25 for 30 % of the run, then falls to 1/250,000.
ONE_CYCLE_RISE = 0.3
ONE_CYCLE_START, ONE_CYCLE_END = 1 / 25, 1 / 250_000
ONE_CYCLE_MOMENTUM = (0.95, 0.85)  # at the lowest and at the highest rate

DIVERGED = "no longer finite: lower --optimiser.rate, or give --optimiser.clip"


class Task(LightningModule):
    """A network in training. Subclasses define `training_step`, which adds to `totals`, and `take_totals`.

    Args:
        network: Network to train.
        optimiser: Optimiser and learning-rate schedule.
        seed: Cycles, masks and dropout of a training step follow from it and the number of the step.
        sums: How many numbers are summed over the steps of an epoch; the last one counts what the others add up.
    """

    score: ClassVar[str] = "accuracy"  # the figure of a split that is highest in the best epoch

    def __init__(self, network: nn.Module, optimiser: OptimiserOptions, seed: int, sums: int) -> None:
        super().__init__()
        self.network, self.optimiser, self.seed, self.sums = network, optimiser, seed, sums
        self.totals = torch.zeros(sums)  # not a buffer, which half precision would round

    def ask(self, batch: Batch) -> Any:
        """Give a batch to the network."""
        return self.network(batch.points, batch.normals)

    def take_totals(self) -> dict[str, float]:
        """The figures of the training steps of this epoch, "train_loss" among them; resets the totals."""
        raise NotImplementedError

    def figures(self) -> dict[str, float]:
        """Figures measured after the epoch."""
        return {}

    def notes(self) -> dict[str, Any]:
        """What the weights file says about the answers, besides the names of classes."""
        return {}

    def confusion_rows(self) -> list[list[int]]:
        """The confusion matrix of the test split; empty without one."""
        return []

    def shown(self, row: dict[str, float]) -> list[str]:
        """What the progress line of an epoch shows besides the loss."""
        return []

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        torch.manual_seed(derive(self.seed, CYCLES, self.global_step, self.global_rank))
        if self.optimiser.schedule == "one-cycle":
            value = self.momentum(self.global_step)
            for group in cast(torch.optim.Optimizer, self.optimizers(use_pl_optimizer=False)).param_groups:
                group.update({"momentum": value} if "momentum" in group else {"betas": (value, group["betas"][1])})

    def share_buffers(self) -> None:
        """Let all processes measure what is saved: the batch statistics of the first."""
        if self.trainer.world_size > 1:
            for buffer in self.network.buffers():
                distributed.broadcast(buffer, 0)

    def add_to_totals(self, *values: torch.Tensor) -> None:
        step = torch.stack(values)
        self.totals = self.totals.to(step.device) + step

    def summed(self) -> list[float]:
        """The totals over all processes; resets them."""
        totals = self.trainer.strategy.reduce(self.totals, reduce_op="sum").tolist()
        self.totals = torch.zeros(self.sums)
        if not totals[-1]:
            raise ValueError(f"every step of the epoch was skipped: its loss is {DIVERGED}")
        return totals

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        # So that an interrupted epoch keeps the figures of all its steps, per process.
        totals = cast(torch.Tensor, self.all_gather(self.totals.to(self.device)))
        checkpoint["totals"] = totals.view(-1, self.sums).tolist()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.totals = torch.tensor(checkpoint["totals"]).view(-1, self.sums)[self.global_rank]

    def configure_optimizers(self) -> Any:
        optimiser = make_optimiser(self.network, self.optimiser)
        total = int(self.trainer.estimated_stepping_batches)
        per_epoch = total / (self.trainer.max_epochs or 1)
        factor = schedule(self.optimiser, total, per_epoch)
        self.momentum = one_cycle_momentum(self.optimiser, total, per_epoch)
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, factor)
        return {"optimizer": optimiser, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}


def make_optimiser(network: nn.Module, options: OptimiserOptions) -> torch.optim.Optimizer:
    weights = decaying(network, options) if options.decays == "matrices" else network.parameters()
    if options.name == "sgd":
        return torch.optim.SGD(weights, lr=options.rate, momentum=0.9, weight_decay=options.weight_decay, nesterov=True)
    kind = torch.optim.AdamW if options.name == "adamw" else torch.optim.Adam
    return kind(weights, lr=options.rate, weight_decay=options.weight_decay)


def decaying(network: nn.Module, options: OptimiserOptions) -> list[dict[str, Any]]:
    """Two groups of weights: matrices, which decay, and biases, norms and tokens, which do not (as in Point-MAE)."""
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        (others if parameter.dim() < 2 or "token" in name else matrices).append(parameter)
    return [{"params": matrices}, {"params": others, "weight_decay": 0.0}]


def schedule(options: OptimiserOptions, total: int, per_epoch: float) -> Callable[[int], float]:
    """The factor of the learning rate at each of `total` steps; it has no state, so a run can continue for longer."""
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
        if options.schedule == "step" and options.milestones:
            return options.decay ** sum(step // per_epoch >= epoch for epoch in options.milestones)
        if options.schedule == "step":
            return float(options.decay ** (step // per_epoch // options.decay_epochs))
        return 1.0

    return factor


def one_cycle_momentum(options: OptimiserOptions, total: int, per_epoch: float) -> Callable[[int], float]:
    """Momentum, or the first beta of Adam, at each step of "one-cycle": low while the rate is high."""
    rise = _rise(options, total, per_epoch)
    high, low = ONE_CYCLE_MOMENTUM

    def momentum(step: int) -> float:
        if step < rise:
            return _cosine(high, low, step / rise)
        return _cosine(low, high, min(1.0, (step - rise) / max(1, total - 1 - rise)))

    return momentum


def _rise(options: OptimiserOptions, total: int, per_epoch: float) -> float:
    """Steps of rising rate: at most half of the run, however long the warm-up."""
    usual = ONE_CYCLE_RISE * total if options.schedule == "one-cycle" else 0
    return min(usual if options.warmup is None else options.warmup * per_epoch, total / 2)


def _cosine(begin: float, end: float, share: float) -> float:
    return end + (begin - end) * (1 + math.cos(math.pi * share)) / 2
