"""Signals that ask a process to stop: Ctrl-C, and those that terminals, systems and schedulers send.

The program ends with 128 + the number of the signal, as shells count: 130 after Ctrl-C, 143 after SIGTERM.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
SAME = 1.0  # seconds within which a further signal repeats the first: a closed terminal sends two hangups


class Stopped(KeyboardInterrupt):
    """A signal asked us to stop; `code` is the exit code of the program."""

    def __init__(self, message: str = "", number: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.number, self.code = int(number), 128 + int(number)


def heard() -> list[int]:
    """The signals that ask to stop. A hangup that `nohup` ignores stays ignored, and Windows has only some of them."""
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        return []  # only the main thread may handle signals
    hangup = getattr(signal, "SIGHUP", None)
    return [one for one in numbers if one != hangup or signal.getsignal(one) is not signal.SIG_IGN]


class StopRequest:
    """Turns signals into a request: the first one sets `signal`, a second one stops at once.

    Use it as a context manager, or call `begin` and `end`. Outside the main thread it hears nothing.
    """

    def __init__(self) -> None:
        self.signal: int | None = None  # the one that asked
        self._when = 0.0
        self._before: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        return self.signal is not None

    def begin(self) -> None:
        self._before = {number: signal.signal(number, self._ask) for number in heard()}

    def end(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal, self._when = number, time.monotonic()
            if signal.SIGINT in self._before:  # a second Ctrl-C acts as it did before
                signal.signal(signal.SIGINT, self._before.pop(signal.SIGINT))
        elif time.monotonic() - self._when >= SAME:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


@contextmanager
def interrupting() -> Iterator[list[int]]:
    """Inside, the signals act like Ctrl-C: they raise Stopped. Yields the signals that came, oldest first."""
    came: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise Stopped(number=number)

    before = {number: signal.signal(number, stop) for number in heard() if number != signal.SIGINT}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
