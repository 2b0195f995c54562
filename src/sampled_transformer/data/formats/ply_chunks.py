"""Large PLY clouds piece by piece: binary files whose vertices have rows of one size.

Other PLY files, with faces, lists or text, are read and written as a whole (ply.py, write_ply.py).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..errors import DataError
from .labelled import Labelled, class_type
from .ply import Element, PlyFile, _parse_header
from .point_files import named_columns
from .write_ply import added_columns, header_with

LONGEST_HEADER = 65_536  # bytes, as in ply.py
COPIED_AT_ONCE = 1 << 20  # bytes


class PlyRows(NamedTuple):
    """Where the vertices of a file are."""

    head: PlyFile  # without columns
    vertex: Element
    row: np.dtype[Any]
    begin: int  # of the first vertex, in bytes

    @property
    def names(self) -> list[str]:
        return [one.name for one in self.vertex.properties]

    @property
    def end(self) -> int:
        return self.begin + self.vertex.count * self.row.itemsize


def ply_rows(path: Path) -> PlyRows | None:
    """Where the vertices are; None if the file has to be read as a whole, which also says what is wrong with it."""
    with open(path, "rb") as file:
        data = file.read(LONGEST_HEADER + 2)
    end = data.find(b"\nend_header", 0, LONGEST_HEADER) + 1
    start = data.find(b"\n", end) + 1
    if not data.startswith(b"ply") or end == 0 or start == 0:
        return None
    try:
        encoding, elements = _parse_header(data[:end].decode("ascii", "replace"))
    except DataError:
        return None
    if encoding == "ascii" or any(one.name == "face" and one.count for one in elements):
        return None
    order = "<" if encoding == "binary_little_endian" else ">"
    begin = start
    for element in elements:
        if any(one.count_type for one in element.properties) and element.count:
            return None
        places = enumerate(element.properties)
        row = np.dtype([(f"value{place}", order + one.type) for place, one in places])
        if element.name == "vertex":
            fits = element.count > 0 and begin + element.count * row.itemsize <= os.path.getsize(path)
            head = PlyFile(data[:start], start, encoding, elements, {}, (0, 0))
            own = PlyRows(head, element, row, begin)
            return own if fits and named_columns(own.names)[0] is not None and _names_differ(own) else None
        begin += element.count * row.itemsize
    return None


def ply_chunks(path: Path, rows: PlyRows, size: int) -> Iterator[dict[str, np.ndarray]]:
    """Every property of the vertices by name, for `size` vertices at a time."""
    with open(path, "rb") as file:
        file.seek(rows.begin)
        for first in range(0, rows.vertex.count, size):
            table = _read(file, rows, min(size, rows.vertex.count - first))
            yield {name: table[f"value{place}"] for place, name in enumerate(rows.names)}


class PlyCopy:
    """A copy of `source` in `file` that gets classes. Call `write` for all points in their order, then `finish`."""

    def __init__(self, source: Path, rows: PlyRows, file: BinaryIO, classes: dict[int, str], coloured: bool) -> None:
        self.rows, self.file, self.classes, self.coloured = rows, file, classes, coloured
        self.notes: list[str] = []
        self.left = rows.vertex.count
        self.reader = open(source, "rb")  # noqa: SIM115 (closed by __exit__)
        none = Labelled(np.empty(0, class_type(classes)), np.empty(0, np.float32), classes, coloured)
        added = added_columns(rows.names, none)
        file.write(header_with(rows.head, rows.vertex, added, classes))
        self.reader.seek(rows.head.start)
        for begin in range(rows.head.start, rows.begin, COPIED_AT_ONCE):  # what is before the vertices
            file.write(self.reader.read(min(COPIED_AT_ONCE, rows.begin - begin)))

    def __enter__(self) -> PlyCopy:
        return self

    def __exit__(self, *error: object) -> None:
        self.reader.close()

    def write(self, labels: np.ndarray, confidence: np.ndarray) -> None:
        """Write the next points with these classes and confidences."""
        if len(labels) > self.left:
            raise DataError(f"labels: expected one per point ({self.rows.vertex.count}), got more")
        old = _read(self.reader, self.rows, len(labels))
        added = added_columns(self.rows.names, Labelled(labels, confidence, self.classes, self.coloured))
        order = "<" if self.rows.head.encoding == "binary_little_endian" else ">"
        kinds = {one.name: one.type for one in self.rows.vertex.properties}
        kinds |= {name: values.dtype.str[1:] for name, values in added.items()}
        new = np.empty(len(labels), [(f"value{place}", order + kind) for place, kind in enumerate(kinds.values())])
        for place, name in enumerate(kinds):
            new[f"value{place}"] = added[name] if name in added else old[f"value{place}"]
        self.file.write(new.data)
        self.left -= len(labels)

    def finish(self) -> None:
        """Write what follows the points."""
        if self.left:
            total = self.rows.vertex.count
            raise DataError(f"labels: expected one per point ({total}), got {total - self.left}")
        shutil.copyfileobj(self.reader, self.file)


def _names_differ(rows: PlyRows) -> bool:
    return len(set(rows.names)) == len(rows.names)


def _read(file: BinaryIO, rows: PlyRows, count: int) -> np.ndarray:
    table = np.frombuffer(file.read(count * rows.row.itemsize), rows.row)
    if len(table) != count:
        raise DataError("truncated: the vertices end before their number in the header")
    return table
