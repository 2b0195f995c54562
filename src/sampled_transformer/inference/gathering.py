"""The files of a pattern, a list or a URL as one folder, for work that needs its layout, class/file."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ..data.remote import SCHEME, local_copy
from .places import Place, files_below, is_pattern


def is_many(source: str) -> bool:
    """Whether a source is a pattern, a list or a URL, and not a folder or a name."""
    if os.path.lexists(source):
        return False
    return source.startswith("@") or SCHEME.match(source) is not None or is_pattern(source)


@contextmanager
def gathered(source: str) -> Iterator[Path]:
    """A temporary folder with all files of a pattern, a list or a URL, in the folders that they were in.

    Local files are linked or copied, remote ones are downloaded. The paths begin below the last folder that all files
    share, or above it if some lie in it directly, because the name of a file's folder is its class.
    """
    places: list[Place] = []
    for place in files_below([source]):
        if isinstance(place, Exception):
            raise place
        places.append(place)
    with tempfile.TemporaryDirectory(prefix="sampled-transformer-") as name:
        folder = Path(name, "files")
        for place, below in zip(places, below_common(list(map(_path, places))), strict=True):
            target = folder.joinpath(*below)
            target.parent.mkdir(parents=True, exist_ok=True)
            with local_copy(place) as path:
                _link_or_copy(path, target)
        yield folder


def below_common(paths: Sequence[PurePosixPath]) -> list[tuple[str, ...]]:
    """The parts of paths below the last folder that all share, with at least one folder each if there is one."""
    shared = 0
    for level in zip(*(path.parts[:-1] for path in paths), strict=False):
        if len(set(level)) > 1:
            break
        shared += 1
    if any(len(path.parts) == shared + 1 for path in paths):
        shared = max(0, shared - 1)
    return [path.parts[shared:] for path in paths]


def _path(place: Place) -> PurePosixPath:
    """The folders and the name of a file, without what says where the file system is."""
    if isinstance(place, Path):
        return PurePosixPath(place.absolute().as_posix().lstrip("/"))
    return PurePosixPath(place.partition("://")[2].partition("?")[0].lstrip("/"))


def _link_or_copy(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(path, target)
