"""Write files atomically: after a crash there is the whole file or the old one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .printable import printable


@contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file next to `path`. It replaces `path` if the block ends without an error."""
    path = Path(path)
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


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
