"""Statistics of BatchNorm that fit the weights, where too few steps were made for a running average of them.

In evaluation, BatchNorm divides by running averages, which keep 9 / 10 of their value in each step. After k steps they
still hold 0.9^k of what they began with, and otherwise what earlier weights produced. After 9 steps that is 39 %: a
network that has learnt its training split may then give one answer to everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, cast

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from ..data import Batch
from ..inference.trained import in_evaluation
from .task import Task

FEW_STEPS = 100  # 0.9^100 is 3e-5
MOST_BATCHES = 20  # more would not change the statistics by much


@torch.no_grad()
def estimate_statistics(
    network: nn.Module, batches: Iterable[Batch], ask: Callable[[Batch], Any] | None = None
) -> dict[str, Tensor]:
    """Replace the running averages of BatchNorm by the means over some batches; returns the averages from before.

        mean <- 1/B sum_b mean_b,    variance <- 1/B sum_b variance_b,    over B batches

    The rest of the network is in evaluation. Nothing random is drawn, and counts of steps stay as they are. `ask` gives
    a batch to the network (default: its points and normals).
    """
    norms = {
        name: one for name, one in network.named_modules() if isinstance(one, _BatchNorm) and one.track_running_stats
    }
    before = {f"{name}.{key}": value.clone() for name, norm in norms.items() for key, value in norm.named_buffers()}
    momenta = {name: norm.momentum for name, norm in norms.items()}
    with in_evaluation(network):
        try:
            for norm in norms.values():
                norm.reset_running_stats()
                norm.momentum = None  # a plain mean over all batches
                norm.train()
            for batch in islice(batches, MOST_BATCHES) if norms else ():
                network(batch.points, batch.normals) if ask is None else ask(batch)
        finally:
            for name, norm in norms.items():
                norm.momentum = momenta[name]
                norm.eval()
                if norm.num_batches_tracked is not None:
                    norm.num_batches_tracked.copy_(before[f"{name}.num_batches_tracked"])
    return before


@torch.no_grad()
def restore_statistics(network: nn.Module, before: dict[str, Tensor]) -> None:
    """Put back what `estimate_statistics` returned."""
    buffers = dict(network.named_buffers())
    for name, value in before.items():
        buffers[name].copy_(value)


class FreshStatistics(Callback):
    """Estimates the statistics again before every evaluation in the first `FEW_STEPS` steps.

    What is measured is also what is saved. Training then goes on with its running averages, as if nothing had happened,
    so that all later evaluations are the same as without; the checkpoint holds both.
    """

    def __init__(self) -> None:
        self.before: dict[str, Tensor] = {}  # the running averages, while the network has others

    def state_dict(self) -> dict[str, Any]:
        return {"before": self.before}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.before = state_dict["before"]

    def refresh(self, trainer: Trainer, module: LightningModule) -> None:
        """Estimate the statistics over training shapes, unless enough steps were made or it is done already.

        The shapes are not augmented, because those of an evaluation are not either: that measured better. Every
        process goes through the same batches.
        """
        if self.before or trainer.global_step > FEW_STEPS:
            return
        precision, network = trainer.precision_plugin, cast(nn.Module, module.network)
        device = next(network.parameters()).device
        batches = trainer.datamodule.sample_batches()  # type: ignore[attr-defined]
        with precision.forward_context():
            converted = (precision.convert_input(one.to(device)) for one in batches)
            self.before = estimate_statistics(network, converted, cast(Task, module).ask)

    def on_validation_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.refresh(trainer, pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.refresh(trainer, pl_module)  # for trainings that evaluate nothing but are saved

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        restore_statistics(cast(nn.Module, pl_module.network), self.before)
        self.before = {}
