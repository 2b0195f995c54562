"""What happens around the training steps: the record of a run, its checkpoints, signals, and the progress shown."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.io.torch_io import TorchCheckpointIO
from lightning.pytorch import Callback, LightningModule, Trainer
from tqdm import tqdm

from ..support.signals import StopRequest
from .checkpoints import LAST, Every, Timer, read_checkpoint, write_checkpoint
from .data_digest import Digest
from .nonfinite import gradient_norm
from .run_folder import write_table
from .task import Task

Row = dict[str, float]


class AtomicCheckpoints(TorchCheckpointIO):
    """Checkpoints that replace the previous one only when complete; loading one cannot run code."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        write_checkpoint(path, checkpoint)

    def load_checkpoint(self, path: Any, map_location: Any = "cpu", weights_only: bool | None = None) -> dict[str, Any]:
        return read_checkpoint(path, map_location)


class Record(Callback):
    """Writes one row of figures per epoch to metrics.csv, the loggers and the checkpoint, then the checkpoint itself.

    Args:
        folder: Folder of the run.
        save: Writes the network to the file of this name, with the row as its figures.
        score: The figure of a split that is highest in the best epoch.
    """

    def __init__(self, folder: Path, save: Callable[[str, Row], None], score: str = Task.score) -> None:
        self.folder, self.save, self.score = folder, save, score
        self.rows: list[Row] = []
        self.confusion: list[list[int]] = []  # of the test split after the last epoch
        self.carried = 0.0  # seconds spent on this epoch before an interruption
        self.begin = time.perf_counter()
        self.gradient = torch.zeros(())  # largest norm of this epoch, before clipping
        self.skipped = 0  # steps of this epoch that were not finite
        self.data: Digest = {}  # of the data that the run is made with

    @property
    def checkpoint(self) -> Path:
        return self.folder / LAST

    def skip(self) -> None:
        """Count a step that was skipped."""
        self.skipped += 1

    def state_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "confusion": self.confusion,
            "carried": self._spent(),
            "gradient": float(self.gradient),
            "skipped": self.skipped,
            "data": self.data,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.rows, self.confusion = list(state_dict["rows"]), state_dict["confusion"]
        self.carried = state_dict["carried"]
        self.gradient = torch.tensor(state_dict.get("gradient", 0.0))  # runs begun before it was kept lack it
        self.skipped = state_dict.get("skipped", 0)

    def _spent(self) -> float:
        return self.carried + time.perf_counter() - self.begin

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.begin = time.perf_counter()

    def on_before_optimizer_step(
        self, trainer: Trainer, pl_module: LightningModule, optimizer: torch.optim.Optimizer
    ) -> None:
        norm = gradient_norm(pl_module)
        # Half precision skips steps whose gradient is not finite: they say nothing about the run.
        norm = torch.where(norm.isfinite(), norm, torch.zeros_like(norm))
        self.gradient = torch.maximum(self.gradient.to(norm), norm)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        assert isinstance(pl_module, Task)
        totals = pl_module.take_totals()
        if not math.isfinite(totals["train_loss"]):
            raise ValueError("the loss is no longer finite: lower --optimiser.rate, or give --optimiser.clip")
        row: Row = {"epoch": trainer.current_epoch + 1, **totals, **pl_module.figures()}
        row["gradient_norm"] = float(self.gradient)
        if self.skipped:
            row["skipped_steps"] = self.skipped
        row["learning_rate"] = trainer.optimizers[0].param_groups[0]["lr"]
        row["seconds"] = round(self._spent(), 3)
        self.carried, self.begin, self.gradient, self.skipped = 0.0, time.perf_counter(), torch.zeros(()), 0
        self.rows.append(row)
        self.confusion = pl_module.confusion_rows()
        if trainer.is_global_zero:
            self._write(trainer, row)
        trainer.save_checkpoint(self.checkpoint)

    def _write(self, trainer: Trainer, row: Row) -> None:
        figures = {name: value for name, value in row.items() if name != "epoch"}
        for logger in trainer.loggers:
            logger.log_metrics(figures, int(row["epoch"]))
        write_table(self.folder / "metrics.csv", self.rows)
        if self.best_on("validation") is row:
            self.save("model-best.safetensors", row)
        self.save("model.safetensors", row)

    def best_on(self, split: str) -> Row | None:
        """The first epoch with the highest score on a split; None without that split."""
        key = f"{split}_{self.score}"
        rows = [row for row in self.rows if key in row]
        return max(rows, key=lambda row: row[key]) if rows else None


class Interrupted(Exception):
    """A signal, after everything needed to continue was saved."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class SaveOnInterrupt(Callback):
    """On Ctrl-C and the signals of systems and schedulers, finishes the step, saves and stops; a second stops at once.

    Also saves from time to time, so that a power cut does not cost an epoch of several hours.
    """

    def __init__(self, record: Record, every: Every) -> None:
        self.record, self.timer = record, Timer(every)
        self.request = StopRequest()

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.timer.restart(trainer.global_step)
        self.request.begin()  # in place of Lightning's own handler, which would stop without saving

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        # Here and not after the step: here the engine counts all steps so far as done. All processes must agree.
        due = self.request.asked or self.timer.is_due(trainer.global_step)
        if not trainer.strategy.reduce_boolean_decision(due, all=False):
            return
        trainer.save_checkpoint(self.record.checkpoint)
        self.timer.restart(trainer.global_step)
        number = torch.tensor(self.request.signal or 0, device=pl_module.device)
        number = trainer.strategy.reduce(number, reduce_op="max")
        if number:
            raise Interrupted(int(number))

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        self.request.end()


class Progress(Callback):
    """Shows a bar over all steps with the time left (on a terminal), and one line per epoch."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.bar: tqdm | None = None

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.is_global_zero:
            total = int(trainer.estimated_stepping_batches)
            self.bar = tqdm(total=total, initial=trainer.global_step, unit="step", disable=None, dynamic_ncols=True)

    def on_train_batch_end(self, trainer: Trainer, *_: Any) -> None:
        if self.bar is not None:
            self.bar.set_description(f"epoch {trainer.current_epoch + 1}/{trainer.max_epochs}", refresh=False)
            self.bar.update()

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.bar is None:
            return
        assert isinstance(pl_module, Task)
        row = self.record.rows[-1]
        left = (trainer.max_epochs or 0) - row["epoch"]
        typical = sorted(one["seconds"] for one in self.record.rows)[len(self.record.rows) // 2]
        shown = ", ".join([f"loss {row['train_loss']:.4f}", *pl_module.shown(row), f"{row['seconds']:.1f} s"])
        rest = tqdm.format_interval(left * typical)
        tqdm.write(f"epoch {row['epoch']:.0f}/{trainer.max_epochs}: {shown}, {rest} left")

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        if self.bar is not None:
            self.bar.close()
