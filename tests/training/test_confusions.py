"""What tasks with classes share, with figures of a task's own."""

from __future__ import annotations

import pytest
import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn

from sampled_transformer.training.confusions import ClassTask
from sampled_transformer.training.settings import OptimiserOptions


class Counted(ClassTask):
    measure = staticmethod(lambda confusion: {"right": float(confusion.trace())})


def counted(**options: tuple[str, ...]) -> Counted:
    task = Counted(nn.Linear(3, 3), 3, OptimiserOptions(), **options)
    task.trainer = Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False)
    return task


def scores(classes: list[int]) -> Tensor:
    return nn.functional.one_hot(torch.tensor(classes), 3).float()


def test_answers_are_counted_per_split_and_unknown_labels_are_not() -> None:
    task = counted(splits=("validation", "test"))
    task.on_validation_epoch_start()
    task.count_answers(scores([0, 1, 2]), torch.tensor([0, 1, 1]), "validation")
    task.count_answers(scores([2, 2]), torch.tensor([2, -1]), "test")
    task.count_answers(scores([0]), torch.tensor([1]), "test")
    assert task.figures() == {"validation_right": 2.0, "test_right": 1.0}
    assert task.confusion_rows() == [[0, 0, 0], [1, 0, 0], [0, 0, 1]]  # of the test split
    task.on_validation_epoch_start()
    assert task.figures() == {"validation_right": 0.0, "test_right": 0.0}


def test_a_run_without_a_test_split_has_no_confusion_matrix() -> None:
    assert counted(splits=("validation",)).confusion_rows() == []


def test_an_answer_that_is_not_finite_spoils_the_figures() -> None:
    task = counted()
    task.on_validation_epoch_start()
    task.count_answers(torch.full((1, 3), torch.nan), torch.tensor([0]), "test")
    with pytest.raises(ValueError, match="answers are"):
        task.figures()


def test_totals_of_an_epoch() -> None:
    task = counted()
    task.add_to_totals(torch.tensor(3.0), torch.tensor(1.0), torch.tensor(2.0))
    assert task.take_totals() == {"train_loss": 1.5, "train_accuracy": 0.5}
    with pytest.raises(ValueError, match="every step of the epoch was skipped"):
        task.take_totals()
