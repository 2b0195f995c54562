"""Point clouds from text, numpy and PCD files: each reader takes a path and gives a Cloud or a DataError."""

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
REMARK = ("#", "//")


class Cloud(NamedTuple):
    """Points (n, 3) as they stand in the file, and their normals if it has any."""

    points: np.ndarray
    normals: np.ndarray | None = None


def named_columns(columns: Sequence[str]) -> tuple[list[int] | None, list[int] | None]:
    """Which columns are called x, y, z and which nx, ny, nz."""
    names = [column.strip(" \t\"'").lower() for column in columns]

    def find(*triples: tuple[str, ...]) -> list[int] | None:
        return next(([names.index(name) for name in triple] for triple in triples if set(triple) <= set(names)), None)

    return find(("x", "y", "z")), find(*NORMAL_NAMES)


def split_columns(table: np.ndarray) -> Cloud:
    """A table without names: three columns are the points, the next three normals if they are unit vectors."""
    if table.ndim != 2 or table.shape[1] < 3:
        raise DataError(f"expected a table (n, 3) or wider, got shape {table.shape}")
    if table.shape[1] >= 6 and len(table):
        lengths = np.sqrt(np.square(table[:, 3:6].astype(np.float64)).sum(1))
        if np.mean(np.abs(lengths - 1) < 0.02) > 0.99:  # colours of 0..1 or 0..255 do not pass
            return Cloud(table[:, :3], table[:, 3:6])
    return Cloud(table[:, :3])


def read_text(path: Path) -> Cloud:
    """XYZ, TXT, CSV: numbers between spaces, commas or semicolons, after at most one line of names or the point count.

    Lines that start with # or // are remarks; one of them just above the numbers may hold the names.
    """
    text = path.read_bytes().decode("utf-8-sig", "replace")
    if "\0" in text:
        raise DataError("binary data where text was expected")
    lines = [(number, line.strip().rstrip(",;")) for number, line in enumerate(text.splitlines(), 1)]
    lines = [(number, line) for number, line in lines if line]
    names: list[str] = []
    rows: list[tuple[int, str]] = []
    headings = 0
    for number, line in lines:
        if rows and not line.startswith(REMARK):
            rows.append((number, line))
        elif not rows and (line.startswith(REMARK) or not any(map(_is_number, _split(line)))):
            headings += not line.startswith(REMARK)
            names = _split(line.lstrip("#/ "))
        elif not rows:
            rows.append((number, line))
    if headings > 1:
        raise DataError("more than one line of text before the numbers")
    if len(rows) > 1 and len(_split(rows[0][1])) == 1:
        claim = rows.pop(0)[1]
        if claim != str(len(rows)):
            raise DataError(f"header claims {claim} points, but {len(rows)} lines follow it")
    table = _table(rows)
    positions, normals = named_columns(names) if len(names) == table.shape[1] else (None, None)
    if positions is None and normals is None:
        return split_columns(table)
    return Cloud(table[:, positions or [0, 1, 2]], table[:, normals] if normals else None)


def _split(line: str) -> list[str]:
    if ";" in line:
        return line.replace(",", ".").split(";")  # such files use the comma as the decimal sign
    return line.split(",") if "," in line else line.split()


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _table(rows: list[tuple[int, str]]) -> np.ndarray:
    """Numbers (rows, columns); when they do not parse, the line to blame is looked for and named."""
    if not rows:
        raise DataError("no line of numbers")
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
            bad = [word for word in words if not _is_number(word)]
            if bad:
                raise DataError(f"line {number}: '{bad[0][:40]}' is not a number") from None
            if len(words) != width:
                raise DataError(f"line {number}: {len(words)} columns where the first line has {width}") from None
        raise


def read_npy(path: Path) -> Cloud:
    """One array (n, 3), or wider as in a text file."""
    return split_columns(read_array(path))


def read_npz(path: Path) -> tuple[Cloud, np.ndarray | None]:
    """The arrays `points` (or `vertices`, `xyz`, ...), `normals` and `faces`; or the only array there is."""
    there = array_names(path)
    names = [name for name in ARRAY_NAMES if name in there] or (there if len(there) == 1 else [])
    if not names:
        raise DataError(f"no array named {', '.join(ARRAY_NAMES[:3])} (found: {', '.join(there) or 'nothing'})")
    normals = [name for name in ARRAY_NORMAL_NAMES if name in there][:1]
    faces = [name for name in ("faces", "triangles") if name in there][:1]
    arrays = read_arrays(path, names=[names[0], *normals, *faces])
    cloud = split_columns(arrays[names[0]])
    if normals:
        cloud = Cloud(cloud.points, arrays[normals[0]])
    return cloud, arrays[faces[0]] if faces else None


def missing_reader(package: str) -> DataError:
    return DataError(f'reading it needs the package {package}: pip install "sampled-transformer[formats]"')


def read_pcd(path: Path) -> Cloud:
    """PCD of any encoding. In an organised cloud (height > 1) NaN marks pixels without a point; those are left out."""
    try:
        from pypcd4 import PointCloud
        from pypcd4.pypcd4 import MetaData
    except ImportError:
        raise missing_reader("pypcd4") from None
    with open(path, "rb") as file:
        lines: list[str] = []
        while not (lines and lines[-1].startswith("DATA")):
            line = file.readline(4096).decode("ascii", "replace")
            if not line or len(lines) > 100:
                raise DataError("no PCD header")
            lines.append(line.strip())
        header = MetaData.parse_header(lines)
        available = os.fstat(file.fileno()).st_size - file.tell()
        sizes = file.read(8)
    values, row = sum(header.count), sum(np.multiply(header.count, header.size).tolist())
    if header.points == 0 or values > available:
        raise DataError(f"header claims {header.points} points of {values} values, but {available} bytes follow it")
    needed = header.points * (2 * values - 1 if header.data == "ascii" else row)
    if header.data not in ("ascii", "binary"):
        compressed, claimed = np.frombuffer(sizes.ljust(8, b"\0"), "<u4").tolist()
        if compressed > available - 8 or claimed != needed:
            raise DataError(
                f"header claims {header.points} points, the data block {claimed} bytes: truncated or damaged"
            )
        needed //= EXPANSION  # LZF shrinks 90 times at most
    if needed > available:
        raise DataError(f"header claims {header.points} points, but only {available} bytes follow it")
    cloud = PointCloud.from_path(path)
    positions, normals = named_columns(cloud.fields)
    if positions is None:
        raise DataError(f"no fields x, y, z (found: {', '.join(cloud.fields)})")
    if len(cloud.pc_data) != header.points:
        raise DataError(f"header claims {header.points} points, found {len(cloud.pc_data)}")
    table = cloud.numpy(tuple(cloud.fields[i] for i in positions + (normals or [])))
    if header.height > 1:
        table = table[~np.isnan(table).any(1)]
    return Cloud(table[:, :3], table[:, 3:6] if normals else None)
