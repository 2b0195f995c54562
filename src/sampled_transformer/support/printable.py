"""File names made fit for one line of text."""

from __future__ import annotations

import os
from pathlib import Path


def printable(path: str | Path) -> str:
    """A path as text that any terminal can show: bytes that are not UTF-8 and control characters are escaped."""
    text = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)
