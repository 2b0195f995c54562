"""Make names that come from files safe to print on one line."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def printable(path: str | Path) -> str:
    """A name as text for any terminal: bytes that are not UTF-8 and control characters are escaped."""
    text = os.fspath(path)
    if text.isascii() and text.isprintable():  # as almost all names are
        return text
    with suppress(UnicodeEncodeError):  # half of a surrogate pair, which JSON can hold; it is escaped below
        text = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def brief(text: str, most: int = 80) -> str:
    """Text from a file for a line of an error: printable, and cut after `most` characters."""
    return printable(text if len(text) <= most else f"{text[:most]}...")


def one_line(text: str, most: int = 5_000) -> str:
    """An error on one line that ends, whatever names and lists of names from files it holds; a path has room in it."""
    return brief(" ".join(text.split()), most)
