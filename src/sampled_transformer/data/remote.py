"""Files on other machines, by their URL: s3://, gs://, https:// and all else that fsspec knows.

A remote file is copied to a temporary file, read there like any other, and deleted. fsspec is an extra, and some of its
file systems need a further package, such as s3fs; the error says which.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ..support.printable import printable
from .errors import DataError
from .files import LARGEST_FILE

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.:-]*://")  # also chains such as simplecache::s3://


class Url(str):
    """The address of a remote file."""


def is_url(name: str) -> bool:
    """Whether a name begins with a scheme such as s3://; fsspec has to know it."""
    found = SCHEME.match(name)
    if found is None:
        return False
    check_scheme(found[0])
    return True


def suffix_of(url: str) -> str:
    """The suffix of the file that a URL names, in lower case."""
    return PurePosixPath(urlsplit(url).path).suffix.lower()


@cache
def check_scheme(scheme: str) -> None:
    """Raise a ValueError, before any work, unless fsspec and the package for this kind of URL are installed."""
    fsspec = _fsspec()
    for protocol in scheme.removesuffix("://").split("::"):
        try:
            fsspec.get_filesystem_class(protocol)
        except (ImportError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"files: expected URLs that fsspec can read, got {scheme} ({reason})") from None


def remote_folder(url: str) -> list[Url] | None:
    """All files below a remote folder, sorted, or None if the URL names no folder."""
    with _named(url):
        system, path = _open(url)
        if not system.isdir(path):
            return None
        return sorted(Url(system.unstrip_protocol(name)) for name in system.find(path))


def remote_glob(url: str) -> list[Url]:
    """All files that match a pattern with * or **, sorted."""
    with _named(url):
        system, path = _open(url)
        found = system.glob(path, detail=True)
        return sorted(Url(system.unstrip_protocol(name)) for name, one in found.items() if one["type"] == "file")


@contextmanager
def local_copy(place: Path | str) -> Iterator[Path]:
    """The path of a local file itself, or that of a temporary copy of a remote one, which is deleted afterwards.

    Errors inside the block name the URL, not the copy.
    """
    if not isinstance(place, Url):
        yield Path(place)
        return
    with tempfile.TemporaryDirectory(prefix="remote-") as folder:
        path = Path(folder, f"copy{suffix_of(place)}")
        with _named(place):
            _download(place, path)
        try:
            yield path
        except DataError as error:
            raise DataError(str(error).replace(printable(path), printable(place))) from None


def _download(url: Url, path: Path) -> None:
    system, name = _open(url)
    with system.open(name, "rb") as source, open(path, "wb") as target:
        size = getattr(source, "size", None)
        if size is not None and size > LARGEST_FILE:
            raise DataError(f"file too large: expected at most {LARGEST_FILE} bytes, got {size}")
        shutil.copyfileobj(source, target, 1 << 20)


def _open(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    system, path = _fsspec().core.url_to_fs(url)
    return system, path


def _fsspec() -> Any:
    try:
        import fsspec
    except ImportError:
        raise ValueError('fsspec is not installed: pip install "sampled-transformer[remote]"') from None
    return fsspec


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Turn what a file system raises, which can be anything, into a DataError that begins with the URL."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{printable(url)}: {error}") from None
    except FileNotFoundError as error:
        raise DataError(f"{printable(url)}: {_why_not_found(error)}") from None
    except Exception as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DataError(f"{printable(url)}: cannot be read ({reason})") from None


def _why_not_found(error: FileNotFoundError) -> str:
    """What is wrong: fsspec also says that there is no such file where no server answers."""
    cause = error.__cause__
    if not isinstance(cause, OSError) or isinstance(cause, FileNotFoundError):
        return os.strerror(2)
    known = cause.errno is not None and cause.errno > 0
    return os.strerror(cause.errno) if known else cause.strerror or str(cause)  # type: ignore[arg-type]
