"""Which files a user means: those that are named, and those of known formats in the folders that are named."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..data.errors import DataError
from ..data.files import READERS
from ..support.printable import printable


class EmptyFolder(DataError):
    """A folder without any file of a known format."""

    def __init__(self, place: Path) -> None:
        self.place = str(place)
        super().__init__(f"{printable(place)}: no file of a known format in this folder")

    def __reduce__(self) -> tuple[type[EmptyFolder], tuple[Path]]:
        return EmptyFolder, (Path(self.place),)  # it travels to a process as it was made


def files_below(places: Sequence[str]) -> Iterator[Path | EmptyFolder]:
    """The given files, and those of known formats below the given folders, in the given order and sorted by path."""
    for place in map(Path, places):
        if not place.is_dir():
            yield place
            continue
        found = False
        for path in _shapes_in(place):
            found = True
            yield path
        if not found:
            yield EmptyFolder(place)


def _shapes_in(folder: Path) -> Iterator[Path]:
    """Files of known formats; hidden ones, and links to folders, are left out. Only one folder is listed at a time."""
    with suppress(OSError):  # a folder that we may not read
        for name in sorted(os.listdir(folder)):
            path = folder / name
            if name.startswith("."):
                continue
            if path.is_dir():
                if not path.is_symlink():
                    yield from _shapes_in(path)
            elif path.suffix.lower() in READERS and path.is_file():
                yield path
