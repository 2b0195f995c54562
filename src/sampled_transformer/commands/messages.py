"""What commands write to the error output."""

from __future__ import annotations

import sys
from collections.abc import Iterable

PROGRAM = "sampled-transformer"


def fail(message: str, code: int) -> int:
    """Write an error in one line; returns the exit code."""
    print(f"{PROGRAM}: error: {' '.join(message.split())}", file=sys.stderr)
    return code


def warn(message: str) -> None:
    """Write a warning in one line."""
    print(f"{PROGRAM}: warning: {' '.join(message.split())}", file=sys.stderr)


def remark(kind: str, lines: Iterable[str]) -> None:
    """Write one line for each remark about the input."""
    for line in lines:
        print(f"{kind}: {line}", file=sys.stderr)
