"""Read and write .npy and .npz files without trusting them: no pickles, and we check every size before allocating.

numpy's own reader allocates whatever the header claims, and a 200-byte file may claim terabytes. Here the header must
agree with the size of the file, and an archive may not unpack to more than `EXPANSION` times its size on disk.
"""

from __future__ import annotations

import io
import math
import os
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ...support.atomic import atomic_write
from ...support.printable import brief, printable
from ..errors import DataError
from ..limits import reason_of, too_much_memory

EXPANSION = 100  # packs compress 1.2 to 3 times, columns of padded names up to 50 times
ALWAYS_ALLOWED = 2**28  # bytes that any archive may unpack to, however small it is
MOST_MEMBERS = 1000  # arrays per archive; a pack has at most a dozen
LONGEST_HEADER = 10_000  # bytes, numpy's own limit
DEEPEST = 100  # brackets in a header; one of a plain array has two
NO_HEADER = "expected a header with a type and a shape, got something else"
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # numpy writes no others
LARGEST = 2**35  # bytes; at most 32 GiB per archive


class Header(NamedTuple):
    """The header of an array, read before the array itself."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran_order: bool
    start: int  # offset of the first byte of data

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@contextmanager
def _one_line_errors(path: Path) -> Iterator[None]:
    """Turn whatever zipfile, zlib or numpy raise for a broken file into a DataError that names it."""
    try:
        yield
    except DataError as error:
        raise DataError(f"{printable(path)}: {error}") from None
    except FileNotFoundError:
        raise DataError(f"{printable(path)}: no such file") from None
    except OSError as error:
        raise DataError(f"{printable(path)}: {reason_of(error)}") from None
    except MemoryError:
        raise DataError(f"{printable(path)}: {too_much_memory()}") from None
    except Exception as error:  # the header is a Python literal, and damaged ones raise whatever its parser raises
        reason = brief(" ".join(str(error).split()), 200)
        raise DataError(f"{printable(path)}: damaged file ({reason or type(error).__name__})") from None


def _read_header(stream: IO[bytes], available: int, structured: bool = False) -> Header:
    version = np.lib.format.read_magic(stream)
    if version not in {(1, 0), (2, 0)}:
        raise DataError(f"unknown npy version {version}; expected (1, 0) or (2, 0)")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    width = 2 if version == (1, 0) else 4
    length = stream.read(width)
    if int.from_bytes(length, "little") > LONGEST_HEADER:
        raise DataError(f"expected a header of at most {LONGEST_HEADER:,} bytes, got more")
    text = stream.read(int.from_bytes(length, "little"))
    if text.count(b"(") + text.count(b"[") + text.count(b"{") > DEEPEST:
        raise DataError(NO_HEADER)
    try:
        shape, fortran_order, dtype = read(io.BytesIO(length + text))
    except MemoryError:  # what Python's parser raises when it gives up on nested operators, however short they are
        raise DataError(NO_HEADER) from None
    fields = [dtype[name] for name in dtype.names] if structured and dtype.names else [dtype]
    if dtype.hasobject or any(part.names or part.kind not in "biufSU" or part.itemsize == 0 for part in fields):
        raise DataError(f"type not accepted: expected plain numbers or text, got {brief(str(dtype))}")
    if any(type(side) is not int for side in shape):
        raise DataError("expected a shape of whole numbers, got others")
    start = len(np.lib.format.magic(*version)) + len(length) + len(text)
    header = Header(dtype, tuple(shape), fortran_order, start)
    if min(header.shape, default=0) < 0 or header.size != available - header.start:
        raise DataError(f"header claims {dtype} {brief(str(shape))}, but {available - header.start} bytes follow")
    return header


def _read_body(stream: IO[bytes], header: Header) -> np.ndarray:
    array = np.empty(header.shape, header.dtype, order="F" if header.fortran_order else "C")
    if array.size == 0:
        return array
    target = memoryview(array.reshape(-1, order="A").view(np.uint8).data)
    while len(target):
        count = stream.readinto(target)  # type: ignore[attr-defined]
        if not count:
            raise DataError("truncated: the data ends early")
        target = target[count:]
    if stream.read(1):  # reading past the end also makes zipfile verify the checksum
        raise DataError("more data than the header claims")
    if header.dtype.kind == "U":
        letters = array.reshape(-1, order="A").view(np.dtype(np.uint32).newbyteorder(header.dtype.byteorder))
        if letters.max() > sys.maxunicode:
            raise DataError("expected text, got numbers that are no letters")
    return array


def read_array(
    path: str | Path, structured: bool = False, check: Callable[[dict[str, Header]], None] | None = None
) -> np.ndarray:
    """Read the array in a .npy file. With `structured`, its rows may consist of named numbers.

    `check` is as in `read_arrays`.
    """
    path = Path(path)
    with _one_line_errors(path), open(path, "rb") as stream:
        header = _read_header(stream, os.fstat(stream.fileno()).st_size, structured)
        if check is not None:
            check({"": header})
        return _read_body(stream, header)


def array_names(path: str | Path) -> list[str]:
    """The names of the arrays in an .npz file."""
    with _one_line_errors(Path(path)), zipfile.ZipFile(path) as archive:
        return list(_members(archive, Path(path).stat().st_size))


def read_arrays(
    path: str | Path,
    check: Callable[[dict[str, Header]], None] | None = None,
    names: Collection[str] | None = None,
) -> dict[str, np.ndarray]:
    """Read all arrays of an .npz file, or only those called `names`.

    `check` gets the headers before anything is allocated and may raise a DataError.
    """
    path = Path(path)
    with _one_line_errors(path):
        size_on_disk = path.stat().st_size
        if size_on_disk == 0:
            raise DataError("empty file")
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, size_on_disk)
            members = {name: info for name, info in members.items() if names is None or name in names}
            headers: dict[str, Header] = {}
            for name, member in members.items():
                with archive.open(member) as stream, _errors_naming(name):
                    headers[name] = _read_header(stream, member.file_size)
            if check is not None:
                check(headers)
            arrays = {}
            for name, member in members.items():
                with archive.open(member) as stream, _errors_naming(name):
                    stream.read(headers[name].start)
                    arrays[name] = _read_body(stream, headers[name])
            return arrays


@contextmanager
def _errors_naming(member: str) -> Iterator[None]:
    """Turn a ValueError into a DataError that names the array."""
    try:
        yield
    except (ValueError, SyntaxError, RecursionError) as error:
        raise DataError(f"'{brief(member)}': {error}") from None


def _members(archive: zipfile.ZipFile, size_on_disk: int) -> dict[str, zipfile.ZipInfo]:
    """The members of the archive by array name, if they are all arrays and do not unpack to too much."""
    if len(archive.infolist()) > MOST_MEMBERS:
        raise DataError(f"expected at most {MOST_MEMBERS:,} arrays, got {len(archive.infolist()):,}")
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise DataError("two arrays have the same name")
    for info in archive.infolist():
        if not info.filename.endswith(".npy"):
            raise DataError(f"contains '{brief(info.filename)}', which is not an array")
        if info.compress_type not in METHODS or info.flag_bits & 1:
            raise DataError(f"'{brief(info.filename)}': expected an array stored or deflated, got another method")
    total = sum(info.file_size for info in archive.infolist())
    limit = min(LARGEST, max(ALWAYS_ALLOWED, EXPANSION * size_on_disk))
    if total > limit:
        raise DataError(f"claims to unpack from {size_on_disk} to {total} bytes; the limit is {limit}")
    return members


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray], compress: bool = True) -> None:
    """Write an .npz file atomically. The same arrays give the same bytes, because members carry no timestamp."""
    path = Path(path)
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            atomic_write(path) as file,
            # Quantised coordinates hardly compress: level 6 takes six times as long and saves 1 %.
            zipfile.ZipFile(file, "w", method, compresslevel=1) as archive,
        ):
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    except OSError as error:
        raise DataError(f"{printable(path)}: cannot write ({error.strerror or error})") from None
