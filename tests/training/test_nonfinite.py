"""Steps that are not finite, as `fewshot` and the parts see them; tests/training/test_run.py has whole runs."""

from __future__ import annotations

import pytest
import torch
from lightning.pytorch import Trainer
from torch import nn
from torch.utils.data import DataLoader

from sampled_transformer.data import Batch
from sampled_transformer.training.nonfinite import NotFinite, WatchFinite, gradient_norm
from sampled_transformer.training.settings import OptimiserOptions
from sampled_transformer.training.task import Task


class Line(Task):
    """Fits a line; the third batch is not finite."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        super().__init__(nn.Linear(1, 1), OptimiserOptions(schedule="constant"), 0, sums=1)

    def training_step(self, batch: Batch, batch_idx: int) -> torch.Tensor:
        loss = self.network(batch.points).square().mean()
        self.add_to_totals(loss.detach())
        return loss


def fit(watch: WatchFinite, *values: float) -> Line:
    trainer = Trainer(
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        max_epochs=1,
        callbacks=[watch],
    )
    task = Line()
    trainer.fit(task, DataLoader(values, batch_size=1, collate_fn=lambda one: Batch(torch.full((4, 1), one[0]))))
    return task


def test_the_norm_is_that_of_all_gradients() -> None:
    layer = nn.Linear(3, 2)
    layer(torch.ones(1, 3)).sum().backward()
    expected = torch.cat([weight.grad.flatten() for weight in layer.parameters()]).norm()
    assert float(gradient_norm(layer)) == pytest.approx(float(expected))
    assert float(gradient_norm(nn.Linear(1, 1))) == 0


def test_a_run_stops_before_the_step() -> None:
    with pytest.raises(NotFinite, match=r"^the loss of step 3 is no longer finite: lower --optimiser\.rate, "):
        fit(WatchFinite(), 1.0, 2.0, torch.inf, 3.0)


def test_a_finite_loss_with_a_gradient_that_is_not_stops_too() -> None:
    def spoil(gradient: torch.Tensor) -> torch.Tensor:
        return gradient * torch.nan

    class Spoilt(WatchFinite):
        def on_train_start(self, trainer: Trainer, pl_module: Task) -> None:
            pl_module.network.weight.register_hook(spoil)

    with pytest.raises(NotFinite, match=r"^the gradient of step 1 is no longer finite"):
        fit(Spoilt(), 1.0)


def test_skipped_steps_are_counted_and_change_nothing() -> None:
    count: list[None] = []
    task = fit(WatchFinite("skip", lambda: count.append(None)), 1.0, 2.0, torch.nan)
    assert len(count) == 1
    two = fit(WatchFinite(), 1.0, 2.0)
    assert torch.equal(task.network.weight, two.network.weight)
    assert torch.equal(task.totals, two.totals)
