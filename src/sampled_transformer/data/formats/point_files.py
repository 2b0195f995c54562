"""Point clouds in text, numpy and PCD files. Each reader takes a path and returns a Cloud or raises a DataError.

Other cloud formats: las.py reads LAS and LAZ, ply.py reads PLY.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import DataError
from .npz import EXPANSION, array_names, read_array, read_arrays

NORMAL_NAMES = (("nx", "ny", "nz"), ("normal_x", "normal_y", "normal_z"), ("normalx", "normaly", "normalz"))
ARRAY_NAMES = ("points", "vertices", "xyz", "positions", "pos", "pc", "pointcloud", "data", "arr_0")
ARRAY_NORMAL_NAMES = ("normals", "normal", "vertex_normals")
COMMENT = ("#", "//")


class Cloud(NamedTuple):
    """Points (n, 3) as stored in the file, and their normals if the file has any."""

    points: np.ndarray
    normals: np.ndarray | None = None


def named_columns(columns: Sequence[str]) -> tuple[list[int] | None, list[int] | None]:
    """The indices of the columns called x, y, z and of those called nx, ny, nz (None if missing)."""
    names = [column.strip(" \t\"'").lower() for column in columns]

    def find(*triples: tuple[str, ...]) -> list[int] | None:
        return next(([names.index(name) for name in triple] for triple in triples if set(triple) <= set(names)), None)

    return find(("x", "y", "z")), find(*NORMAL_NAMES)


def split_columns(table: np.ndarray) -> Cloud:
    """Split a table without column names: three columns of points, then three of normals if they are unit vectors."""
    if table.ndim != 2 or table.shape[1] < 3:
        raise DataError(f"expected a table of shape (n, 3) or wider, got {table.shape}")
    if table.shape[1] >= 6 and len(table):
        lengths = np.sqrt(np.square(table[:, 3:6].astype(np.float64)).sum(1))
        if np.mean(np.abs(lengths - 1) < 0.02) > 0.99:  # colours from 0 to 1 or 0 to 255 fail this test
            return Cloud(table[:, :3], table[:, 3:6])
    return Cloud(table[:, :3])


def read_text(path: Path) -> Cloud:
    """Read XYZ, TXT, CSV or PTS: one point per line, numbers separated by spaces, commas or semicolons.

    The first line may hold the column names or the number of points. Lines that begin with # or // are comments; a
    comment directly above the numbers may also hold the column names.
    """
    text = path.read_bytes().decode("utf-8-sig", "replace")
    if "\0" in text:
        raise DataError("expected text, got binary data")
    lines = [(number, line.strip().rstrip(",;")) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line]
    names: list[str] = []
    rows: list[tuple[int, str]] = []
    headings = 0
    for number, line in lines:
        if rows and not line.startswith(COMMENT):
            rows.append((number, line))
        elif not rows and (line.startswith(COMMENT) or not any(map(is_number, _split(line)))):
            headings += not line.startswith(COMMENT)
            names = _split(line.lstrip("#/ "))
        elif not rows:
            rows.append((number, line))
    if headings > 1:
        raise DataError(f"expected at most 1 line of text before the numbers, got {headings}")
    if len(rows) > 1 and len(_split(rows[0][1])) == 1:
        claim = rows.pop(0)[1]
        if claim != str(len(rows)):
            raise DataError(f"header claims {claim} points, but {len(rows)} lines follow")
    table = _table(rows)
    positions, normals = named_columns(names) if len(names) == table.shape[1] else (None, None)
    if positions is None and normals is None:
        return split_columns(table)
    return Cloud(table[:, positions or [0, 1, 2]], table[:, normals] if normals else None)


def _split(line: str) -> list[str]:
    if ";" in line:
        return line.replace(",", ".").split(";")  # such files use a decimal comma
    return line.split(",") if "," in line else line.split()


def is_number(word: str) -> bool:
    """Whether Python reads `word` as a float."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def _table(rows: list[tuple[int, str]]) -> np.ndarray:
    """Parse the numbers, (rows, columns). If that fails, find the faulty line and name it."""
    if not rows:
        raise DataError("expected at least one line of numbers, got none")
    first = rows[0][1]
    delimiter = ";" if ";" in first else "," if "," in first else None
    if delimiter == ";":
        rows = [(number, line.replace(",", ".")) for number, line in rows]
    try:
        return np.loadtxt([line for _, line in rows], delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        width = len(first.split(delimiter))
        for number, line in rows:
            words = line.split(delimiter)
            bad = [word for word in words if not is_number(word)]
            if bad:
                raise DataError(f"line {number}: expected numbers, got '{bad[0][:40]}'") from None
            if len(words) != width:
                raise DataError(f"line {number}: expected {width} columns, got {len(words)}") from None
        raise


def read_npy(path: Path) -> Cloud:
    """Read one array (n, 3) or wider; `split_columns` interprets its columns."""
    return split_columns(read_array(path))


def read_npz(path: Path) -> tuple[Cloud, np.ndarray | None]:
    """Read the arrays `points` (or `vertices`, `xyz`, ...), `normals` and `faces`. A single array may have any name."""
    available = array_names(path)
    names = [name for name in ARRAY_NAMES if name in available] or (available if len(available) == 1 else [])
    if not names:
        found = ", ".join(available) or "no arrays"
        raise DataError(f"no points; expected an array named {', '.join(ARRAY_NAMES[:3])} or similar, got {found}")
    normals = [name for name in ARRAY_NORMAL_NAMES if name in available][:1]
    faces = [name for name in ("faces", "triangles") if name in available][:1]
    arrays = read_arrays(path, names=[names[0], *normals, *faces])
    cloud = split_columns(arrays[names[0]])
    if normals:
        cloud = Cloud(cloud.points, arrays[normals[0]])
    return cloud, arrays[faces[0]] if faces else None


def missing_reader(package: str) -> DataError:
    """The error for a format that needs an optional package."""
    return DataError(f'this format needs the package {package}: pip install "sampled-transformer[formats]"')


def read_pcd(path: Path) -> Cloud:
    """Read PCD in any encoding. In an organised cloud (height > 1), NaN marks pixels without a point; we skip them."""
    try:
        from pypcd4.pypcd4 import MetaData, PointCloud
    except ImportError:
        raise missing_reader("pypcd4") from None
    with open(path, "rb") as file:
        lines: list[str] = []
        while not (lines and lines[-1].startswith("DATA")):
            line = file.readline(4096).decode("ascii", "replace")
            if not line or len(lines) > 100:
                raise DataError("not a PCD file; expected a header that ends with a DATA line")
            lines.append(line.strip())
        header = MetaData.parse_header(lines)
        available = os.fstat(file.fileno()).st_size - file.tell()
        sizes = file.read(8)
    values, row = sum(header.count), sum(np.multiply(header.count, header.size).tolist())
    if header.points == 0 or values > available:
        raise DataError(f"header claims {header.points} points of {values} values, but {available} bytes follow")
    needed = header.points * (2 * values - 1 if header.data == "ascii" else row)
    if header.data not in ("ascii", "binary"):
        compressed, claimed = np.frombuffer(sizes.ljust(8, b"\0"), "<u4").tolist()
        if compressed > available - 8 or claimed != needed:
            claims = f"header claims {header.points} points, the data block claims {claimed} bytes"
            raise DataError(f"truncated or damaged: {claims}")
        needed //= EXPANSION  # LZF compresses at most 90 times
    if needed > available:
        raise DataError(f"header claims {header.points} points, but only {available} bytes follow")
    cloud = PointCloud.from_path(path)
    positions, normals = named_columns(cloud.fields)
    if positions is None:
        raise DataError(f"no points; expected the fields x, y, z, got {', '.join(cloud.fields)}")
    if len(cloud.pc_data) != header.points:
        raise DataError(f"header claims {header.points} points, but the file has {len(cloud.pc_data)}")
    table = cloud.numpy(tuple(cloud.fields[i] for i in positions + (normals or [])))
    if header.height > 1:
        table = table[~np.isnan(table).any(1)]
    return Cloud(table[:, :3], table[:, 3:6] if normals else None)
