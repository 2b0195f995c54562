"""Read the points to cluster: tables of any width, and for networks of three dimensions all shapes."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

from ..data.errors import DataError
from ..data.files import READERS, check_raw, check_size, draw_shape, named_errors, only_data_errors
from ..data.formats.meshes import Mesh
from ..data.formats.npz import read_array
from ..data.formats.text import is_number
from ..data.guard import read_file
from ..support.printable import printable

TEXT = (".csv", ".txt", ".xyz", ".pts")
SCANS = (".xyz", ".pts")  # in these, the columns after the three coordinates are normals or colours
LARGEST = 1e150  # largest coordinate; the squares of larger numbers overflow
MESH_POINTS = 2048  # points drawn from the surface of a mesh


def read_points(path: str | Path, dimension: int) -> np.ndarray:
    """Read the points in a file, (n, dimension), as finite float64 numbers."""
    return read_table_of_points(path, dimension)[0]


def read_table_of_points(path: str | Path, dimension: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read the points in a file, as `read_points` does, and the names of their coordinates, if it has any."""
    table, columns = read_file(_read_table_of_points, Path(path), dimension)
    return table, columns


def _read_table_of_points(path: Path, dimension: int) -> tuple[np.ndarray, tuple[str, ...]]:
    with named_errors(printable(path)), only_data_errors(path):
        check_size(path)
        found, columns = _read(path, dimension)
        table = np.asarray(found, np.float64)
    if table.ndim != 2 or table.shape[1] != dimension:
        raise DataError(
            f"{printable(path)}: expected {dimension} numbers per point, as in the network, got shape {table.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(table).all(1))
    if len(bad):
        raise DataError(f"{printable(path)}: expected finite numbers, got NaN or infinity in point {bad[0] + 1}")
    if abs(table).max(initial=0) > LARGEST:
        raise DataError(f"{printable(path)}: expected coordinates below {LARGEST:g}, got {abs(table).max():g}")
    return table, columns


def _read(path: Path, dimension: int) -> tuple[np.ndarray, tuple[str, ...]]:
    suffix = path.suffix.lower()
    if suffix in TEXT:
        table, columns = read_table(path)
        if suffix not in SCANS or dimension != 3 or table.shape[1] == 3:
            return table, columns
    elif suffix == ".npy":
        return read_array(path), ()
    elif dimension != 3 and suffix in READERS:
        raise DataError(f"expected points with {dimension} coordinates, as in the network, got a format for 3-D points")
    if suffix not in READERS:
        raise DataError(f"unknown format '{path.suffix}'; known formats: {' '.join(READERS)}")
    raw = READERS[suffix](path)
    if isinstance(raw, Mesh):
        return draw_shape(check_raw(raw), points=MESH_POINTS, normals="none", normalise=False).shape.points, ()
    return raw.points, ()


def read_table(path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read a text file: one point per line, numbers separated by commas, semicolons or spaces.

    The first line may hold the names of the columns, which are returned, too.
    """
    lines = path.read_bytes().decode("utf-8-sig", "replace").splitlines()
    rows = [
        (number, [word for field in re.split("[,;]", line) for word in field.split() or [""]])
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.strip().startswith(("#", "//"))
    ]
    heading = ""
    if rows and not any(map(is_number, rows[0][1])):
        heading, rows = lines[rows[0][0] - 1], rows[1:]
    if not rows:
        raise DataError("expected at least one line of numbers, got none")
    width = len(rows[0][1])
    for number, words in rows:
        if "" in words:
            raise DataError(f"line {number}: expected a number in every field, got none in field {words.index('') + 1}")
        if len(words) != width:
            raise DataError(f"line {number}: expected {width} numbers, as in the first line, got {len(words)}")
        bad = [word for word in words if not is_number(word)]
        if bad:
            raise DataError(f"line {number}: expected numbers, got {bad[0][:40]!r}")
    return np.array([words for _, words in rows], np.float64), _column_names(heading, width)


def _column_names(heading: str, width: int) -> tuple[str, ...]:
    """The names in the first line, which may hold spaces between commas; none unless every column has its own."""
    separator = next((one for one in ";," if one in heading), None)
    words = heading.split() if separator is None else next(csv.reader([heading], delimiter=separator))
    names = tuple(printable(word.strip()) for word in words)
    return names if len(names) == width == len(set(names) - {""}) else ()
