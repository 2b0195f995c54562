"""How much memory the file that is being read may take (`support.limits.Limits` says how much).

Readers compare what a header claims with the memory (`check_need`) before they allocate anything. What no header tells
is enforced by the process that reads (guard.py).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ..support.lack_of_memory import memory_errors
from .errors import DataError

POINT_BYTES = 96  # per point while a cloud is checked and drawn from: places, normals, keys and copies of them
FACE_BYTES = 240  # per triangle of a mesh: corners, edges, areas, keys and copies of them

_allowed: ContextVar[int | None] = ContextVar("allowed", default=None)


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


def reason_of(error: OSError) -> str:
    """Why the system refused something, for a line about a file; mapping a file can take too much memory, too."""
    return too_much_memory() if error.errno == errno.ENOMEM else error.strerror or str(error)


@contextmanager
def enough_memory(place: str) -> Iterator[None]:
    """Let a lack of memory within the block, also torch's, be a DataError that begins with the file's name."""
    try:
        with memory_errors():
            yield
    except MemoryError as error:
        raise DataError(f"{place}: {error}") from None


def allowance(most: int) -> str:
    """The memory that a file may take, and how to allow more."""
    return f"{gigabytes(most)} of memory; --reading.memory allows more"


def gigabytes(size: int) -> str:
    """A size in bytes for people."""
    return f"{size / 1e9:.3g} GB"
