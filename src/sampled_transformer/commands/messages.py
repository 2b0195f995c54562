"""What commands write to the error output."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from ..support.printable import printable

PROGRAM = "sampled-transformer"


def fail(message: str, code: int) -> int:
    """Write an error in one line; returns the exit code."""
    print(f"{PROGRAM}: error: {_line(message)}", file=sys.stderr)
    return code


def warn(message: str) -> None:
    """Write a warning in one line."""
    print(f"{PROGRAM}: warning: {_line(message)}", file=sys.stderr)


def remark(kind: str, lines: Iterable[str]) -> None:
    """Write one line for each remark about the input."""
    for line in lines:
        print(f"{kind}: {_line(line)}", file=sys.stderr)


def _line(message: str) -> str:
    """A message on one line, whatever stands in it."""
    return printable(" ".join(message.split()))
