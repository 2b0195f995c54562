"""Memory that a step gives back and the next one takes again."""

from __future__ import annotations

import ctypes

# The parameters of glibc's mallopt, from its malloc.h.
TRIM_THRESHOLD, TOP_PAD, MMAP_MAX = -1, -2, -4


def give_back_memory() -> bool:
    """Hand the memory of freed tensors to the system now; False if the C library cannot."""
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (AttributeError, OSError, TypeError):  # not glibc
        return False


def keep_freed_memory() -> bool:
    """Let the C library keep the memory of freed tensors instead of handing it to the system; False if it cannot.

    By default glibc maps every large block anew, and the kernel clears its pages: in a training step of the basic
    network on a CPU that took longer than all of its element-wise arithmetic (see benchmarks/training_step.py). The
    price is that the process stays as large as it once was: the program asks for this, the library does not.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return False
    return all(
        mallopt(parameter, value) for parameter, value in ((MMAP_MAX, 0), (TRIM_THRESHOLD, 2**31 - 1), (TOP_PAD, 2**26))
    )
