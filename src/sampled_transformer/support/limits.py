"""How much memory and time reading one file may take: `Limits`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

DEFAULT_MEMORY = 2.0  # gigabytes
EXPANSION = 20  # times the file, where that is more
BYTES_PER_SECOND = 2e6  # that a file of any size may be read at


@dataclass(frozen=True)
class Limits:
    """What reading one file may take.

    Args:
        memory: Gigabytes of memory (default: 2, or 20 times the file if that is more).
        seconds: Seconds of processor time, for each piece of a file that is read in pieces; by the clock, ten times as
            many. A large file has half a second per megabyte.
    """

    memory: float | None = None
    seconds: float = 30.0

    def __post_init__(self) -> None:
        for name, value in (("memory", self.memory), ("seconds", self.seconds)):
            if value is not None and not (isfinite(value) and 0 < value < 1e6):
                raise ValueError(f"reading.{name}: expected a number above 0 and below 1e6, got {value}")

    def bytes_for(self, path: Path) -> int:
        """The memory that this file may take."""
        if self.memory is not None:
            return int(self.memory * 1e9)
        return max(int(DEFAULT_MEMORY * 1e9), EXPANSION * _size(path))

    def seconds_for(self, path: Path) -> float:
        """The processor time that this file may take."""
        return max(self.seconds, _size(path) / BYTES_PER_SECOND)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
