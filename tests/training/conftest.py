"""Interrupt a run on purpose."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from lightning.pytorch import Callback, Trainer

from sampled_transformer.training import run as runs
from sampled_transformer.training.callbacks import Record
from sampled_transformer.training.settings import Settings


class InterruptAt(Callback):
    """Sends Ctrl-C, or another signal, to the process in a certain step."""

    def __init__(self, step: int, number: int) -> None:
        self.step, self.number = step, number

    def on_train_batch_end(self, trainer: Trainer, *_: object) -> None:
        if trainer.global_step == self.step:
            os.kill(os.getpid(), self.number)


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Interrupts the next run after a step."""
    build = runs.build_trainer

    def at(step: int, number: int = signal.SIGINT) -> None:
        def build_with(settings: Settings, record: Record) -> Trainer:
            monkeypatch.setattr(runs, "build_trainer", build)
            trainer = build(settings, record)
            trainer.callbacks.append(InterruptAt(step, number))
            return trainer

        monkeypatch.setattr(runs, "build_trainer", build_with)

    return at


@pytest.fixture
def hears_sigterm() -> Iterator[None]:
    """Whoever started the tests may have another handler."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)
