"""Processes write to files, and a signal to us ends all of them after they have saved."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

from sampled_transformer_lab import children as module
from sampled_transformer_lab.children import Children, stoppable

# Says that it runs, then works until Ctrl-C and saves.
SAVES = """
import signal, sys, time
from pathlib import Path
try:
    Path(sys.argv[1], "ready").touch()
    time.sleep(60)
except KeyboardInterrupt:
    Path(sys.argv[1], "saved").touch()
    sys.exit(130)
"""
STUBBORN = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
Path(sys.argv[1], "ready").touch()
time.sleep(60)
"""


def begin(children: Children, code: str, folder: Path) -> tuple[Thread, list[int]]:
    """Run a program in a thread, and wait until it is ready."""
    codes: list[int] = []
    command = [sys.executable, "-c", code, str(folder)]
    thread = Thread(target=lambda: codes.append(children.run(command, folder / "log", os.environ)))
    thread.start()
    while not (folder / "ready").exists():
        time.sleep(0.01)
    return thread, codes


def test_output_goes_to_files_and_a_log_grows(tmp_path: Path) -> None:
    code = "import sys; print('answer'); print('remark', file=sys.stderr); sys.exit(3)"
    log, answer = tmp_path / "new" / "log", tmp_path / "answer"
    command = [sys.executable, "-c", code]
    assert Children().run(command, log, os.environ) == 3
    assert sorted(log.read_text().split()) == ["answer", "remark"]
    assert Children().run(command, log, os.environ, answer) == 3
    assert answer.read_text().split() == ["answer"]
    assert sorted(log.read_text().split()) == ["answer", "remark", "remark"]


def test_stop_lets_processes_save_and_starts_no_more(tmp_path: Path) -> None:
    children = Children()
    with stoppable():  # so that our children hear Ctrl-C, even if these tests ignore it
        thread, codes = begin(children, SAVES, tmp_path)
        children.stop()
    thread.join(10)
    assert codes == [130]
    assert (tmp_path / "saved").exists()
    with pytest.raises(KeyboardInterrupt):
        children.run([sys.executable, "-c", "pass"], tmp_path / "log", os.environ)


def test_stop_ends_a_process_that_ignores_signals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stages = [(signal.SIGINT, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, 10.0)]
    monkeypatch.setattr(module, "STAGES", stages)
    children = Children()
    thread, codes = begin(children, STUBBORN, tmp_path)
    children.stop()
    thread.join(10)
    assert codes == [-signal.SIGKILL]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_interrupt_and_the_handlers_come_back(number: signal.Signals) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    handler = signal.getsignal(number)
    try:
        with pytest.raises(KeyboardInterrupt), stoppable():
            signal.raise_signal(number)
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
