"""Control memory: how much a reader may allocate, and what the C library does with freed memory."""

from __future__ import annotations

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# The parameters of glibc's mallopt, from its malloc.h.
TRIM_THRESHOLD, TOP_PAD, MMAP_MAX, ARENA_MAX = -1, -2, -4, -8

CAN_LIMIT = sys.platform == "linux"  # whether `limited_memory` limits anything


def give_back_memory() -> bool:
    """Return the memory of freed tensors to the system now. Return False if the C library cannot do that."""
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (AttributeError, OSError, TypeError):  # not glibc
        return False


def release_pages(array: Any) -> None:
    """Let this process forget the pages of a numpy memory map. The file keeps them; other arrays stay as they are.

    Otherwise every page that was ever touched counts as memory of the process, until the system runs short of it.
    """
    mapped, advice = getattr(array, "_mmap", None), getattr(mmap, "MADV_DONTNEED", None)
    if mapped is not None and advice is not None:  # not on Windows
        mapped.madvise(advice)


def keep_freed_memory() -> bool:
    """Make the C library keep the memory of freed tensors for reuse. Return False if it cannot do that.

    By default glibc maps every large block anew, and the kernel clears its pages. In a training step of the basic
    network on a CPU, this took longer than all element-wise arithmetic (see benchmarks/training_step.py). The
    price is that the process never shrinks, so only our command-line program does this, not the library.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    return all(
        mallopt(parameter, value) for parameter, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1), (TOP_PAD, 2**26))
    )


def share_memory_among_threads(pools: int = 2) -> bool:
    """Make all threads take memory from a few pools. Return False if the C library cannot do that.

    By default glibc gives up to eight pools per core to threads, and each keeps what its threads have freed. Call this
    before the threads begin.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(ARENA_MAX, pools))
    except (AttributeError, OSError, TypeError):  # not glibc
        return False


def resident_memory(process: int) -> int:
    """The memory that a process has now, in bytes; 0 where the system does not tell (Windows)."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux, or the process has ended
        return _resident_by_ps(process)


def _resident_by_ps(process: int) -> int:
    """The same from the command `ps` of macOS and the BSDs."""
    try:
        said = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, timeout=10)
        return 1024 * int(said.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0


@contextmanager
def limited_memory(extra: int) -> Iterator[None]:
    """Let this process allocate at most `extra` bytes more than it has, where the system can do that (Linux).

    Native libraries allocate what a damaged file claims, before they look whether it is there. Here such a request
    fails inside the library, which then reports an error as for any other damaged file. Other threads are limited, too.
    """
    try:
        import resource

        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError):  # not Linux
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + extra
    if soft != resource.RLIM_INFINITY and soft <= wanted:
        yield
        return
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
