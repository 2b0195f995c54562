"""Write files atomically: after a crash there is the whole file or the old one."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .printable import printable

LEFTOVER = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")  # the name of a temporary file


@contextmanager
def atomic_write(path: str | Path, keep: Path | None = None) -> Iterator[BinaryIO]:
    """Open a temporary file next to `path`. It replaces `path` if the block ends without an error.

    With `keep`, the file that is replaced survives under that name, in place of an older one.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            _keep(path, keep)
        os.replace(temporary, path)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # as if a full disk had no name
            error.filename = str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _keep(path: Path, keep: Path) -> None:
    """Give a file a second name, such that at every moment `path` exists and `keep` is complete."""
    link = keep.with_name(f".{keep.name[:100]}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        os.link(path, link)
        os.replace(link, keep)
    except OSError:  # some file systems have no hard links
        os.replace(path, keep)
    finally:
        link.unlink(missing_ok=True)


def clear_leftovers(folder: Path, name: str = "") -> None:
    """Remove the temporary files of killed writes; with `name`, only those of that file. Call it under a lock."""
    with suppress(OSError):  # a leftover that cannot be removed does no harm
        for path in folder.iterdir():
            if LEFTOVER.fullmatch(path.name) and path.name.startswith(f".{name[:100]}"):
                path.unlink(missing_ok=True)


def check_target(name: str, path: str | Path | None, *endings: str) -> None:
    """Raise a ValueError unless `path` has one of the endings and its folder exists. Call this before any work."""
    if path is None:
        return
    if Path(path).suffix.lower() not in endings:
        raise ValueError(f"{name}: expected a file name ending in {' or '.join(endings)}, got {printable(path)!r}")
    if Path(path).is_dir() or not Path(path).absolute().parent.is_dir():
        raise ValueError(f"{name}: expected a file in an existing folder, got {printable(path)!r}")


def _sync_folder(folder: Path) -> None:
    """Make the rename itself survive a power failure. Windows cannot open folders and does not need it."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
