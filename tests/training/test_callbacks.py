"""The record of a run: its rows, the best epoch, and its state in a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from lightning.pytorch import Trainer

from sampled_transformer.training.callbacks import AtomicCheckpoints, Record, Row


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(tmp_path, lambda name, row: None)


def test_the_best_epoch_is_the_first_with_the_highest_accuracy(record: Record) -> None:
    assert record.best_on("test") is None
    accuracies = (0.5, 0.9, 0.9, 0.7)
    record.rows = [{"epoch": number, "test_accuracy": value} for number, value in enumerate(accuracies)]
    best = record.best_on("test")
    assert best is record.rows[1]
    assert record.best_on("validation") is None


def test_rows_and_confusion_survive_a_checkpoint(record: Record, tmp_path: Path) -> None:
    record.rows, record.confusion = [{"epoch": 1, "seconds": 2.5}], [[1, 0], [2, 3]]
    AtomicCheckpoints().save_checkpoint({"record": record.state_dict()}, record.checkpoint)
    assert record.checkpoint == tmp_path / "last.ckpt"
    other = Record(tmp_path, lambda name, row: None)
    other.load_state_dict(AtomicCheckpoints().load_checkpoint(record.checkpoint)["record"])
    assert (other.rows, other.confusion) == (record.rows, record.confusion)
    assert other.carried >= 0


def test_a_row_is_written_and_the_network_saved(tmp_path: Path) -> None:
    saved: list[tuple[str, Row]] = []
    record = Record(tmp_path, lambda name, row: saved.append((name, row)))
    trainer = Trainer(accelerator="cpu", logger=False, enable_checkpointing=False)
    for number, accuracy in enumerate((0.9, 0.5)):
        row = {"epoch": number + 1, "validation_accuracy": accuracy}
        record.rows.append(row)
        record._write(trainer, row)
    assert (tmp_path / "metrics.csv").read_text() == "epoch,validation_accuracy\n1,0.9\n2,0.5\n"
    assert [(name, row["epoch"]) for name, row in saved] == [
        ("model-best.safetensors", 1),
        ("model.safetensors", 1),
        ("model.safetensors", 2),
    ]


def test_a_failed_save_keeps_the_checkpoint_before(tmp_path: Path) -> None:
    path = tmp_path / "last.ckpt"
    AtomicCheckpoints().save_checkpoint({"weights": torch.ones(1)}, path)
    with pytest.raises(Exception, match="pickle"):
        AtomicCheckpoints().save_checkpoint({"weights": lambda: None}, path)
    assert torch.equal(AtomicCheckpoints().load_checkpoint(path)["weights"], torch.ones(1))
    assert list(tmp_path.iterdir()) == [path]


def test_the_checkpoint_before_is_kept(tmp_path: Path) -> None:
    for number in range(3):
        AtomicCheckpoints().save_checkpoint({"number": number}, tmp_path / "last.ckpt")
    found = {path.name: AtomicCheckpoints().load_checkpoint(path)["number"] for path in tmp_path.iterdir()}
    assert found == {"last.ckpt": 2, "previous.ckpt": 1}


def test_another_score_chooses_another_epoch(tmp_path: Path) -> None:
    record = Record(tmp_path, lambda name, row: None, "r2")
    record.rows = [{"epoch": 1, "test_r2": -3.0}, {"epoch": 2, "test_r2": 0.5}, {"epoch": 3, "test_r2": 0.4}]
    best = record.best_on("test")
    assert best is not None
    assert best["epoch"] == 2
    assert Record(tmp_path, lambda name, row: None).best_on("test") is None
