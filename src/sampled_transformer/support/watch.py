"""Call a function if a block of code takes too long: `Watch`. One thread serves all blocks, one after the other."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic


class Watch:
    """Calls `late` once if a block takes longer than it may: `with watch.limit(seconds): ...`.

    The thread starts with the first block and sleeps through those that end in time. A thread per block would take
    longer to start than many blocks take. `late` has returned when its block ends.
    """

    def __init__(self, late: Callable[[], None]) -> None:
        self._late = late
        self._changed = threading.Condition()
        self._until = self._wakes = math.inf
        self._thread: threading.Thread | None = None
        self._ended = False

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Let the block take so many seconds."""
        with self._changed:
            self._until = monotonic() + seconds
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            elif self._until < self._wakes:
                self._changed.notify()
        try:
            yield
        finally:
            with self._changed:
                self._until = math.inf

    def end(self) -> None:
        """End the thread."""
        with self._changed:
            self._ended = True
            self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while not self._ended:
                rest = self._until - monotonic()
                if rest <= 0:
                    self._until = math.inf
                    self._late()
                    continue
                self._wakes = self._until
                self._changed.wait(None if rest == math.inf else min(rest, threading.TIMEOUT_MAX))
