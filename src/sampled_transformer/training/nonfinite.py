"""Notice a loss or gradient that is not finite in the step where it comes up, before it reaches the weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from .loading import Batches
from .task import Task

IN_A_ROW = 20  # skipped steps after which a run stops all the same: its weights will not get better


class NotFinite(ValueError):
    """A step whose loss or gradient is not finite. The weights are those before it."""


def gradient_norm(module: nn.Module) -> Tensor:
    """The norm of all gradients together."""
    return get_total_norm([weight.grad for weight in module.parameters() if weight.grad is not None])


class WatchFinite(Callback):
    """Stops the run before a step that is not finite, and names its shapes; or skips the step and counts it.

    A skipped step changes neither weights nor optimiser, batch statistics nor figures. All processes agree. In half
    precision (16-mixed) only the loss counts: there Lightning skips steps whose gradient is too large, and adapts.

    Args:
        action: "stop" or "skip".
        count: Called for every skipped step.
    """

    def __init__(self, action: Literal["stop", "skip"] = "stop", count: Callable[[], None] | None = None) -> None:
        self.action, self.count = action, count
        self.row = 0  # skipped steps since the last good one
        self.loss = torch.zeros(())
        self.totals = torch.zeros(())
        self.buffers: list[Tensor] = []

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        assert isinstance(pl_module, Task)
        self.totals = pl_module.totals
        if self.action == "skip":
            self.buffers = [buffer.detach().clone() for buffer in pl_module.network.buffers()]

    def on_before_backward(self, trainer: Trainer, pl_module: LightningModule, loss: Tensor) -> None:
        self.loss = loss.detach()

    def on_before_optimizer_step(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        assert isinstance(pl_module, Task)
        watched = [self.loss] if trainer.precision == "16-mixed" else [self.loss, gradient_norm(pl_module)]
        own = all(bool(value.isfinite()) for value in watched)
        if trainer.strategy.reduce_boolean_decision(own, all=True):
            self.row = 0
            return
        self.row += 1
        if self.action == "stop" or self.row >= IN_A_ROW:
            raise NotFinite(self._message(trainer, pl_module))
        self._undo(pl_module)
        if self.count is not None:
            self.count()

    def _undo(self, task: Task) -> None:
        for weight in task.parameters():
            weight.grad = None  # optimisers pass over weights without a gradient: no decay, no momentum
        for buffer, before in zip(task.network.buffers(), self.buffers, strict=True):
            buffer.copy_(before)
        task.totals = self.totals

    def _message(self, trainer: Trainer, task: Task) -> str:
        """Name the step and the shapes of every process whose loss is not finite; if none is, those of all."""
        ranks = torch.zeros(trainer.world_size, device=task.device)
        ranks[trainer.global_rank] = float(not self.loss.isfinite())
        ranks = trainer.strategy.reduce(ranks, reduce_op="sum")
        bad = [rank for rank, value in enumerate(ranks.tolist()) if value] or list(range(trainer.world_size))
        what = "loss" if ranks.any() else "gradient"
        loader = trainer.train_dataloader
        named = ""
        if isinstance(loader, Batches):
            shapes = [str(one) for rank in bad for one in loader.shapes(trainer.global_step, rank)]
            named = f", with the shapes {', '.join(shapes)} of the training split,"
        often = f" for the {self.row}th time in a row" if self.row > 1 else ""
        advice = "lower --optimiser.rate, give --optimiser.clip, or --resume with --trainer.nonfinite skip"
        if self.action == "skip":
            advice = "lower --optimiser.rate, or give --optimiser.clip"
        return f"the {what} of step {trainer.global_step + 1}{named} is no longer finite{often}: {advice}"
