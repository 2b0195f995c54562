"""Arrays with one row per point of a scene: in memory, or in files if the scene is too large for it.

A memory map that is read or written in pieces, with its pages let go after each, costs only the memory of a piece.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .memory import release_pages

SLICE = 1 << 20  # points to look at a time, so that memory stays flat


class Workspace:
    """Makes arrays. Without a folder they are in memory.

    Args:
        folder: A folder for their files, which whoever made it deletes.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self.made = 0

    def zeros(self, shape: tuple[int, ...], kind: Any) -> np.ndarray:
        """A new array of zeros. An OSError says that the disk has no room for it."""
        if self.folder is None:
            return np.zeros(shape, kind)
        self.made += 1
        path = self.folder / f"array{self.made}"
        with open(path, "xb") as file:
            size = math.prod(shape) * np.dtype(kind).itemsize
            if hasattr(os, "posix_fallocate") and size:  # a disk that fills up later would kill the process
                try:
                    os.posix_fallocate(file.fileno(), 0, size)
                except OSError as error:
                    wanted = f"expected room for a temporary file of {size:,} bytes, got none"
                    raise OSError(error.errno, f"{wanted} ({error.strerror})", str(path)) from None
        return np.memmap(path, kind, "r+" if path.stat().st_size else "w+", shape=shape)


def slices(total: int) -> Iterator[slice]:
    """The rows of a long array, some at a time."""
    for begin in range(0, total, SLICE):
        yield slice(begin, min(begin + SLICE, total))


def pieces(array: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """The rows of a long array, some at a time, and where they are. Pages of a memory map are let go after each."""
    for some in slices(len(array)):
        yield some, array[some]
        release_pages(array)


def take(array: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """array[rows] for rows in ascending order, without keeping the pages of a memory map."""
    if not isinstance(array, np.memmap):
        own: np.ndarray = array[rows]
        return own
    found = np.empty((len(rows), *array.shape[1:]), array.dtype)
    for some, some_rows in _by_slice(len(array), rows):
        found[some] = array[some_rows]
        release_pages(array)
    return found


def add(array: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """array[rows] += values for rows in ascending order, without keeping the pages of a memory map."""
    if not isinstance(array, np.memmap):
        array[rows] += values
        return
    for some, own in _by_slice(len(array), rows):
        array[own] += values[some]
        release_pages(array)


def put(array: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    """array[rows] = values for rows in ascending order, without keeping the pages of a memory map."""
    for some, own in _by_slice(len(array), rows):
        array[own] = values[some]
        release_pages(array)


def _by_slice(total: int, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows in ascending order, those of one slice of the array at a time, and where they are among the rows."""
    for one in slices(total):
        begin, end = np.searchsorted(rows, [one.start, one.stop])
        if begin < end:
            yield slice(begin, end), rows[begin:end]
