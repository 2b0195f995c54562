"""The progress of a run is read from its folder, and shown on a terminal or line by line."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from sampled_transformer_lab import progress as module
from sampled_transformer_lab.progress import Board, Progress, State, duration, read_progress


def test_epochs(tmp_path: Path) -> None:
    assert read_progress(tmp_path) is None
    (tmp_path / "config.yaml").write_text("epochs: 20\nseed: 0\n")
    assert read_progress(tmp_path) == Progress("epoch", 0, 20)
    (tmp_path / "metrics.csv").write_text("epoch,train_loss,seconds\n1,2.5,90.0\n2,2.0,60.0\n3,1.5,60.0\n")
    os.utime(tmp_path / "metrics.csv", (1000, 1000))
    found = read_progress(tmp_path)
    assert found == Progress("epoch", 3, 20, 60.0, 1000)
    assert found.text(begin=0, now=1000) == "epoch 4 of 20, about 17 min left"
    assert found.text(begin=0, now=1060) == "epoch 4 of 20, about 16 min left"
    assert found.text(begin=5000, now=5000) == "epoch 4 of 20, about 17 min left"  # resumed: the pause does not count


def test_steps_and_folds(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("steps: 10000\n")
    (tmp_path / "metrics.csv").write_text("step,LL0,seconds\n500,-2.0,50.0\n1000,-1.9,100.0\n")
    found = read_progress(tmp_path)
    assert found is not None
    assert found.text(begin=0, now=found.measured) == "step 1,000 of 10,000, about 15 min left"
    (tmp_path / "config.yaml").write_text("folds: 10\nepochs: 50\n")
    assert read_progress(tmp_path) == Progress("fold", 0, 10)
    for number, seconds in enumerate((20, 40)):
        (tmp_path / f"fold-{number}.json").write_text(f'{{"seconds": {seconds}}}')
    found = read_progress(tmp_path)
    assert found is not None
    assert found.text(begin=0, now=found.measured) == "fold 3 of 10, about 4 min left"


def test_the_end_is_no_epoch_too_many() -> None:
    assert Progress("epoch", 20, 20, 60.0).text(begin=0) == "epoch 20 of 20, about 0 s left"
    assert Progress("epoch", 0, 20).text(begin=0) == "epoch 1 of 20"


@pytest.mark.parametrize(
    ("seconds", "text"), [(40, "40 s"), (700, "12 min"), (3600, "1 h 00 min"), (12000, "3 h 20 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_refreshes_one_line_per_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    board = Board(stream)
    path = "runs/a-folder-whose-name-is-longer-than-the-terminal-is-wide.log"
    long = "a text that is longer than the terminal is wide"
    board.show({"one": State("epoch 1 of 2", path), "two": State(long, "two.log")})
    named, other, *lines = stream.getvalue().splitlines()
    assert (named, other) == (f"one: log {path}", "two: log two.log")  # in full, once
    assert [len(line) for line in lines] == [17, 39]
    board.say("one: 70 %")
    board.show({"two": State("running", "two.log")})
    assert stream.getvalue().endswith("\n\x1b[2F\x1b[Jone: 70 %\ntwo: running\n")


def test_elsewhere_a_run_gets_a_line_when_it_starts_and_then_at_most_one_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    board = Board(stream)
    running, first = State("running", "a.log"), State("epoch 1 of 2", "a.log")
    board.show({"one": running, "two": running})
    board.show({"one": first, "two": running})
    assert stream.getvalue() == "one: log a.log\ntwo: log a.log\none: running\ntwo: running\n"
    monkeypatch.setattr(module, "INTERVAL", 0.0)
    board.show({"one": first, "two": running})
    assert stream.getvalue().splitlines()[4:] == ["one: epoch 1 of 2"]
