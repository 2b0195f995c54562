"""How much memory and time reading one file may take: `Limits`.

Readers compare what a header claims with the memory (`check_need`) before they allocate anything. What no header tells
is enforced by the process that reads (guard.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from .errors import DataError

DEFAULT_MEMORY = 2.0  # gigabytes
EXPANSION = 20  # times the file, where that is more
POINT_BYTES = 96  # per point while a cloud is checked and drawn from: places, normals, keys and copies of them
FACE_BYTES = 240  # per triangle of a mesh: corners, edges, areas, keys and copies of them

_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


@dataclass(frozen=True)
class Limits:
    """What reading one file may take.

    Args:
        memory: Gigabytes of memory (default: 2, or 20 times the file if that is more).
        seconds: Seconds, for each piece of a file that is read in pieces.
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
        try:
            size = os.stat(path).st_size
        except OSError:
            size = 0
        return max(int(DEFAULT_MEMORY * 1e9), EXPANSION * size)


@contextmanager
def budget(memory: int | None) -> Iterator[None]:
    """Let `check_need` within the block compare with this many bytes; None allows everything."""
    token = _allowed.set(memory)
    try:
        yield
    finally:
        _allowed.reset(token)


def allowed() -> int | None:
    """The memory that the file which is being read may take, if that is known."""
    return _allowed.get()


def check_need(needed: int, what: str) -> None:
    """Raise a DataError if `what`, such as "5 points", needs more bytes than the file may take."""
    most = _allowed.get()
    if most is not None and needed > most:
        raise DataError(f"{what} need about {gigabytes(needed)}, more than {allowance(most)}")


def too_much_memory() -> str:
    """Why a file is refused that took more memory than there is, or than it may."""
    most = _allowed.get()
    return "not enough memory to read it" if most is None else f"reading it takes more than {allowance(most)}"


def allowance(most: int) -> str:
    """The memory that a file may take, and how to allow more."""
    return f"{gigabytes(most)} of memory; --reading.memory allows more"


def gigabytes(size: int) -> str:
    """A size in bytes for people."""
    return f"{size / 1e9:.3g} GB"
