"""Make every lack of memory a MemoryError of one line: Python, numpy and torch raise it in several ways.

torch on a CPU raises a RuntimeError with the lines of its allocator, on a GPU a RuntimeError of its own. This module
does not load torch, because most commands that lack memory have not done so either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

# What allocators of torch and of the libraries below it say.
WORDS = ("can't allocate memory", "not enough memory", "out of memory", "std::bad_alloc", "could not create a memory")
ASKED = re.compile(r"tried to allocate ([\d.]+) ?(bytes|[KMGT]i?B)", re.IGNORECASE)


@contextmanager
def memory_errors() -> Iterator[None]:
    """Turn every lack of memory within the block into a MemoryError that says how much was asked for."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not is_lack_of_memory(error):
            raise
        raise MemoryError(described(error)) from None


def is_lack_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is not enough memory."""
    if isinstance(error, MemoryError):
        return True
    own = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)  # torch's, and CUDA's before it
    text = str(error).lower()
    return own or (isinstance(error, RuntimeError) and any(word in text for word in WORDS))


def described(error: BaseException) -> str:
    """The error in one line."""
    text = " ".join(str(error).split())
    if text.startswith("not enough memory"):  # described before
        return text
    found = ASKED.search(text)
    if found is None:
        reason = f" ({text[:200]})" if isinstance(error, MemoryError) and text else ""
        return f"not enough memory{reason}"
    number, unit = found.groups()
    size = f"{int(number) / 1e9:,.3g} GB" if unit == "bytes" else f"{number} {unit}"
    return f"not enough memory: {size} were asked for at once"
