"""Processes that end when we end: their output goes to files, and a signal to us makes all of them save and stop."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from sampled_transformer.support.signals import Stopped, heard

PATIENCE = 120.0  # seconds that a process may take to finish its step and save
STAGES = ((signal.SIGINT, PATIENCE), (signal.SIGTERM, 10.0), (getattr(signal, "SIGKILL", signal.SIGTERM), 10.0))
# Ctrl-C shall reach us alone, since a second one would make a training stop without saving.
OWN_GROUP: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}


class Children:
    """The processes that we have started and that still run. Threads may share it."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def run(self, command: Sequence[str], log: Path, environment: Mapping[str, str], output: Path | None = None) -> int:
        """Run a program to its end, and return its exit code.

        What it prints is appended to `log`. With `output`, its standard output goes to that file instead.
        """
        log.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as files:
            errors = files.enter_context(open(log, "ab"))
            answer = errors if output is None else files.enter_context(open(output, "wb"))
            with self._lock:  # no process starts behind the back of `stop`
                if self._stopped:
                    raise KeyboardInterrupt
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=answer, stderr=errors, env=environment, **OWN_GROUP
                )
                self._running.add(process)
        try:
            return process.wait()
        finally:
            self._running.discard(process)

    def stop(self) -> None:
        """Ask all processes to save and stop, and wait for them. A second signal to us ends them at once."""
        with self._lock:
            self._stopped = True
            processes = list(self._running)
        for number, patience in STAGES:
            for process in processes:
                if process.poll() is None:
                    _send(process, number)
            with suppress(KeyboardInterrupt):
                _wait(processes, patience)


def _send(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a process and the processes that it started."""
    with suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, number)
        else:
            process.terminate()


def _wait(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> None:
    end = time.monotonic() + seconds
    while any(process.poll() is None for process in processes) and time.monotonic() < end:
        time.sleep(0.05)


@contextmanager
def stoppable() -> Iterator[None]:
    """Inside, all signals that ask to stop act like Ctrl-C: they raise Stopped, a KeyboardInterrupt.

    Ctrl-C is heard even if the shell that started us in the background made us ignore it: our processes would
    inherit that, and could not be asked to save. A hangup that `nohup` ignores stays ignored.
    """
    before = {number: signal.signal(number, _raise) for number in heard()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Stopped(number=number)
