"""Classification as a task: totals of training, and figures per split."""

from __future__ import annotations

import pytest
import torch
from lightning.pytorch import Trainer
from torch import nn
from torch.utils.data import DataLoader

from sampled_transformer.data import Batch
from sampled_transformer.training.classify import Classify
from sampled_transformer.training.settings import OptimiserOptions


class Sum(nn.Module):
    """Class 1 where the coordinates sum to more than zero."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, points: torch.Tensor, normals: torch.Tensor | None) -> torch.Tensor:
        value = points.sum((1, 2)) * self.scale
        return torch.stack([-value, value], 1)


def batch(signs: list[int], labels: list[int]) -> Batch:
    points = torch.ones(len(signs), 2, 3) * torch.tensor(signs)[:, None, None]
    return Batch(points, None, torch.tensor(labels))


def fit(task: Classify, train: list[Batch], splits: list[list[Batch]]) -> None:
    def loader(batches: list[Batch]) -> DataLoader:
        return DataLoader(batches, batch_size=None, collate_fn=lambda one: one)  # type: ignore[arg-type]

    quiet = {"enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(accelerator="cpu", max_epochs=1, num_sanity_val_steps=0, logger=False, **quiet)
    trainer.fit(task, loader(train), [loader(split) for split in splits])


@pytest.mark.filterwarnings("ignore")
def test_figures_of_an_epoch() -> None:
    task = Classify(Sum(), 2, OptimiserOptions(rate=1e-9, label_smoothing=0.0), splits=("validation", "test"))
    found: dict[str, float] = {}
    taken = task.take_totals
    task.on_train_epoch_end = lambda: found.update(taken())  # type: ignore[method-assign]
    fit(
        task,
        [batch([1, -1], [1, 0]), batch([1, -1], [1, 1])],
        [[batch([1, 1], [1, 1])], [batch([1, -1, -1], [1, 1, -1]), batch([-1], [0])]],
    )
    assert found["train_accuracy"] == pytest.approx(3 / 4)
    assert found["train_loss"] == pytest.approx(12 / 4, rel=1e-3)  # one of four is wrong by 12
    figures = task.figures()
    assert figures["validation_accuracy"] == 1
    assert figures["test_accuracy"] == pytest.approx(2 / 3)  # the label -1 is padding
    assert task.confusion_rows() == [[1, 0], [1, 1]]
    assert task.shown({"train_accuracy": 0.75, **figures})[1:] == ["validation 100.00 %", "test 66.67 %"]


@pytest.mark.filterwarnings("ignore")
def test_answers_that_are_not_finite_are_refused() -> None:
    task = Classify(Sum(), 2, OptimiserOptions(rate=1e-9))
    points = batch([1, -1], [1, 0])
    fit(task, [points], [[Batch(points.points * float("nan"), None, points.labels)]])
    with pytest.raises(ValueError, match=r"answers are no longer finite: lower --optimiser\.rate"):
        task.figures()
