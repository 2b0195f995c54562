"""Which files a user means: those that are named, and those of known formats in the folders that are named.

A place is a file, a folder, a pattern such as "scans/**/*.off" (quoted, so that the shell leaves it alone), a list
`@files.txt` with one place per line, or a URL (data/remote.py) of a file, a folder or a pattern with *.
"""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from ..data.errors import DataError
from ..data.files import READERS
from ..data.remote import Url, is_url, remote_folder, remote_glob, suffix_of
from ..support.printable import printable

Place = Path | Url


class EmptyFolder(DataError):
    """A place without any file of a known format, or one that cannot be searched; `what` says why."""

    def __init__(self, place: Path | str, what: str = "no file of a known format in this folder") -> None:
        self.place, self.what = str(place), what
        super().__init__(f"{printable(place)}: {what}")

    def __reduce__(self) -> tuple[type[EmptyFolder], tuple[str, str]]:
        return EmptyFolder, (self.place, self.what)  # it travels to a process as it was made


def files_below(places: Iterable[str]) -> Iterator[Place | EmptyFolder]:
    """The given files, and those of known formats below folders, in the given order and sorted by path."""
    for place in places:
        try:
            for one in without_lists([place]):
                yield from files_at(one)
        except DataError as error:  # a list that cannot be read
            yield _nothing_at(place.removeprefix("@"), error)


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
    """The files of one place, which is no list; in folders and patterns, those whose suffix is in `formats`.

    What cannot be searched costs its own answer, as a file that cannot be read does.
    """
    try:
        yield from _files_at(place, formats)
    except (DataError, OSError) as error:
        yield _nothing_at(place, error)


def _nothing_at(place: str, error: DataError | OSError) -> EmptyFolder:
    """The error of a place, which names it once."""
    what = str(error) if isinstance(error, DataError) else error.strerror or str(error)
    return EmptyFolder(place, what.removeprefix(f"{printable(place)}: "))


def _files_at(place: str, formats: Container[str]) -> Iterator[Place | EmptyFolder]:
    what = "no file of a known format in this folder"
    if is_url(place):
        found: Iterable[Place | EmptyFolder] = _remote_files(place, formats)
        what = "no file of a known format there"
    elif os.path.isdir(place):
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


def _shapes_in(folder: Path, formats: Container[str]) -> Iterator[Path | EmptyFolder]:
    """Files of known formats; hidden ones, and links to folders, are left out. Only one folder is listed at a time."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:  # such as a folder that we may not read
        yield _nothing_at(str(folder), error)
        return
    for name in names:
        path = folder / name
        if name.startswith("."):
            continue
        if os.path.isdir(path):
            if not os.path.islink(path):
                yield from _shapes_in(path, formats)
        elif _is_known(name, formats) and _is_file(path):
            yield path


def _is_file(path: Path) -> bool:
    """Whether a path is a file, or may be one that we may not see: whoever reads it will say so."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except PermissionError:
        return True
    except OSError:
        return False
