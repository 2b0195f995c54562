"""Make file names safe to print on one line."""

from __future__ import annotations

import os
from pathlib import Path


def printable(path: str | Path) -> str:
    """A path as text for any terminal: bytes that are not UTF-8 and control characters are escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
