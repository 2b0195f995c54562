"""Read the lists of names that come with public data sets, as words in a text or as a list in JSON."""

from __future__ import annotations

import json
from pathlib import Path

from ..support.printable import brief, printable
from .errors import DataError
from .files import check_size, named_errors, only_data_errors
from .guard import read_file

LARGEST = 2**26  # bytes; the longest published list has 3 MB


def read_words(path: Path) -> list[str]:
    """The words of a text, such as the names in a file with one per line."""
    words: list[str] = read_file(_read_words, path)
    return words


def read_names(path: Path) -> list[str]:
    """The names in a JSON file."""
    names: list[str] = read_file(_read_names, path)
    return names


def _read_words(path: Path) -> list[str]:
    with named_errors(printable(path)), only_data_errors(path):
        check_size(path, LARGEST)
        return path.read_text("utf-8", "replace").split()


def _read_names(path: Path) -> list[str]:
    with named_errors(printable(path)), only_data_errors(path):
        check_size(path, LARGEST)
        try:
            names = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise DataError(f"not JSON ({brief(str(error), 200)})") from None
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DataError(f"expected a list of names, got {type(names).__name__}")
        return names
