"""Which files a user means: those that are named, and those of known formats in the folders that are named.

A place is a file, a folder, a pattern such as "scans/**/*.off" (quoted, so that the shell leaves it alone), a list
`@files.txt` with one place per line, or a URL (data/remote.py) of a file, a folder or a pattern with *.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Container, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from ..data.errors import DataError
from ..data.files import READERS
from ..data.remote import Url, is_url, remote_folder, remote_glob, suffix_of
from ..support.printable import printable

Place = Path | Url


class EmptyFolder(DataError):
    """A folder or pattern without any file of a known format."""

    def __init__(self, place: Path | str, what: str = "no file of a known format in this folder") -> None:
        self.place, self.what = str(place), what
        super().__init__(f"{printable(place)}: {what}")

    def __reduce__(self) -> tuple[type[EmptyFolder], tuple[str, str]]:
        return EmptyFolder, (self.place, self.what)  # it travels to a process as it was made


def files_below(places: Iterable[str]) -> Iterator[Place | EmptyFolder]:
    """The given files, and those of known formats below folders, in the given order and sorted by path."""
    for place in without_lists(places):
        yield from files_at(place)


def without_lists(places: Iterable[str]) -> Iterator[str]:
    """The places, with those that are in a list instead of the list."""
    for place in places:
        if place.startswith("@") and not os.path.lexists(place):
            yield from _listed(Path(place[1:]))
        else:
            yield place


def is_pattern(place: str) -> bool:
    """Whether a local place is a pattern; a file that has such a name is that file."""
    return glob.has_magic(place) and not os.path.lexists(place)


def place_of(name: str) -> Place:
    """A file by its name, which may be a URL."""
    return Url(name) if is_url(name) else Path(name)


def names_below(places: Iterable[str]) -> Iterator[str]:
    """The names of the same files, for work that would not begin if a place had none."""
    for place in files_below(places):
        if isinstance(place, EmptyFolder):
            raise place
        yield str(place)


def files_at(place: str, formats: Container[str] = READERS) -> Iterator[Place | EmptyFolder]:
    """The files of one place, which is no list; in folders and patterns, those whose suffix is in `formats`."""
    what = "no file of a known format in this folder"
    if is_url(place):
        found: Iterable[Place] = _remote_files(place, formats)
        what = "no file of a known format there"
    elif Path(place).is_dir():
        found = _shapes_in(Path(place), formats)
    elif is_pattern(place):
        names = sorted(glob.iglob(place, recursive=True))
        found = (Path(name) for name in names if _is_known(name, formats) and os.path.isfile(name))
        what = "no file of a known format matches"
    else:
        found = [Path(place)]
    empty = True
    for path in found:
        empty = False
        yield path
    if empty:
        yield EmptyFolder(place if is_url(place) else Path(place), what)


def _remote_files(url: str, formats: Container[str]) -> list[Url]:
    if "*" in url:
        return _known_below(url.partition("*")[0].rpartition("/")[0], remote_glob(url), formats)
    if suffix_of(url) in formats:  # a file, which we need not ask for before it is read
        return [Url(url)]
    found = remote_folder(url)
    return [Url(url)] if found is None else _known_below(url, found, formats)


def _known_below(root: str, urls: list[Url], formats: Container[str]) -> list[Url]:
    """Those of known formats; as in local folders, hidden ones are left out."""
    return [url for url in urls if suffix_of(url) in formats and "/." not in url.removeprefix(root)]


def _listed(path: Path) -> Iterator[str]:
    """The places in a list, one per line; empty lines do not count, and a list cannot name another one."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                if place := line.strip():
                    yield f"./{place}" if place.startswith("@") else place
    except OSError as error:
        raise DataError(f"{printable(path)}: {error.strerror}; expected a list of files") from None


def _is_known(name: str, formats: Container[str]) -> bool:
    return os.path.splitext(name)[1].lower() in formats


def _shapes_in(folder: Path, formats: Container[str]) -> Iterator[Path]:
    """Files of known formats; hidden ones, and links to folders, are left out. Only one folder is listed at a time."""
    with suppress(OSError):  # a folder that we may not read
        for name in sorted(os.listdir(folder)):
            path = folder / name
            if name.startswith("."):
                continue
            if path.is_dir():
                if not path.is_symlink():
                    yield from _shapes_in(path, formats)
            elif _is_known(name, formats) and path.is_file():
                yield path
