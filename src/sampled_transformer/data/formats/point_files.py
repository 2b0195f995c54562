"""Point clouds in numpy files, and what all readers of clouds share. A reader takes a path and returns a Cloud.

Other cloud formats: las.py reads LAS and LAZ, ply.py reads PLY, pcd.py reads PCD, text.py reads XYZ, TXT, CSV and PTS.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...support.printable import brief
from ..errors import DataError
from ..limits import POINT_BYTES, check_need
from .npz import Header, array_names, read_array, read_arrays

NORMAL_NAMES = (("nx", "ny", "nz"), ("normal_x", "normal_y", "normal_z"), ("normalx", "normaly", "normalz"))
ARRAY_NAMES = ("points", "vertices", "xyz", "positions", "pos", "pc", "pointcloud", "data", "arr_0")
ARRAY_NORMAL_NAMES = ("normals", "normal", "vertex_normals")
ARRAY_LABEL_NAMES = ("labels", "label", "point_labels", "point_label")
FACE_NAMES = ("faces", "triangles")
NOT_A_SCAN = "a mesh has no points to label; expected a cloud, so draw points from its surface first"


class Cloud(NamedTuple):
    """Points (n, 3) as stored in the file, and their normals if the file has any."""

    points: np.ndarray
    normals: np.ndarray | None = None
    unused: str = ""  # columns without names that are neither, such as "columns 4 to 6"


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
            return Cloud(table[:, :3], table[:, 3:6], _unused(7, table.shape[1]))
    return Cloud(table[:, :3], None, _unused(4, table.shape[1]))


def _unused(first: int, last: int) -> str:
    if first > last:
        return ""
    return f"column {last}" if first == last else f"columns {first} to {last}"


def column_names(table: np.ndarray) -> list[str]:
    """Names for the columns of a table without names: x, y, z, then nx, ny, nz for unit vectors, then column_4 etc."""
    known = ["x", "y", "z"] + ["nx", "ny", "nz"] * (split_columns(table).normals is not None)
    return known + [f"column_{number}" for number in range(len(known) + 1, table.shape[1] + 1)]


def table_fields(table: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
    """The columns of a table by name. Without any names, `column_names` has them."""
    if table.ndim != 2 or table.shape[1] < 3:
        raise DataError(f"expected a table of shape (n, 3) or wider, got {table.shape}")
    names = [name.strip(" \t\"'") for name in names] or column_names(table)
    if len(names) != table.shape[1]:
        raise DataError(f"columns: expected {table.shape[1]} names, one per column, got {len(names)}")
    if named_columns(names)[0] is None:  # a heading may have other words for them
        names = ["x", "y", "z", *names[3:]]
    kept = [(name, place) for place, name in enumerate(names) if name not in ("_", "-")]
    for number, (name, _) in enumerate(kept):
        if name.lower() in (other.lower() for other, _ in kept[:number]):
            raise DataError(f"columns: expected different names, got '{brief(name)}' twice")
    return {name: table[:, place] for name, place in kept}


def read_npy(path: Path) -> Cloud:
    """Read one array (n, 3) or wider; `split_columns` interprets its columns."""
    return split_columns(read_array(path, check=_check_need))


def _check_need(headers: dict[str, Header]) -> None:
    """Refuse arrays that would not fit into memory once their numbers are float64."""
    stored = sum(header.size for header in headers.values())
    rows = max((header.shape[0] for header in headers.values() if header.shape), default=0)
    check_need(stored + POINT_BYTES * rows, f"arrays of {stored:,} bytes with {rows:,} rows")


def read_npz(path: Path) -> tuple[Cloud, np.ndarray | None]:
    """Read the arrays `points` (or `vertices`, `xyz`, ...), `normals` and `faces`. A single array may have any name."""
    available = array_names(path)
    points = points_name(available)
    normals = [name for name in ARRAY_NORMAL_NAMES if name in available][:1]
    faces = [name for name in FACE_NAMES if name in available][:1]
    arrays = read_arrays(path, _check_need, [points, *normals, *faces])
    cloud = split_columns(arrays[points])
    if normals:
        cloud = Cloud(cloud.points, arrays[normals[0]], cloud.unused)
    return cloud, arrays[faces[0]] if faces else None


def points_name(available: Sequence[str]) -> str:
    """Which of the arrays holds the points."""
    names = [name for name in ARRAY_NAMES if name in available] or (available if len(available) == 1 else [])
    if not names:
        found = brief(", ".join(available), 200) or "no arrays"
        raise DataError(f"no points; expected an array named {', '.join(ARRAY_NAMES[:3])} or similar, got {found}")
    return names[0]


def missing_reader(package: str) -> DataError:
    """The error for a format that needs an optional package."""
    return DataError(f'this format needs the package {package}: pip install "sampled-transformer[formats]"')


def npz_fields(path: Path) -> tuple[dict[str, np.ndarray], dict[int, str]]:
    """Read every array with one row per point, by name, and the names of the classes (`point_classes`)."""
    available = array_names(path)
    points = points_name(available)
    if any(name in available for name in FACE_NAMES):
        raise DataError(NOT_A_SCAN)
    arrays = read_arrays(path, _check_need)
    table = arrays.pop(points)
    names = column_names(table)
    fields = {name: table[:, place] for place, name in enumerate(names)}
    normals = [name for name in ARRAY_NORMAL_NAMES if name in arrays][:1]
    if normals:
        own = arrays.pop(normals[0])
        if own.shape != (len(table), 3) or own.dtype.kind not in "fiu":
            raise DataError(f"normals: expected numbers of shape {(len(table), 3)}, got {own.dtype} {own.shape}")
        fields = {name: values for name, values in fields.items() if name not in ("nx", "ny", "nz")}
        fields |= {name: own[:, place] for place, name in enumerate(("nx", "ny", "nz"))}
    classes = arrays.pop("point_classes", np.empty(0, np.str_))
    for name, array in arrays.items():
        numeric = array.dtype.kind in "biuf" and array.ndim in (1, 2)
        if numeric and len(array) == len(table):
            fields[name] = array
        elif name.lower() in ARRAY_LABEL_NAMES and array.size > 1:
            expected = f"expected one number per point ({len(table)})"
            raise DataError(f"{name}: {expected}, got {array.dtype} {array.shape}")
    names = classes.tolist() if classes.dtype.kind == "U" and classes.ndim == 1 else []
    return fields, {number: name for number, name in enumerate(names) if name}


def npy_fields(path: Path, columns: list[str] | None = None) -> dict[str, np.ndarray]:
    """Read one array: the fields of a structured one by name, or the columns of a table, as `columns` names them."""
    array = read_array(path, structured=True, check=_check_need)
    if array.dtype.names is None:
        return table_fields(array, columns or [])
    if columns is not None:
        found = brief(", ".join(array.dtype.names), 200)
        raise DataError(f"columns: expected none, because the array has names of its own ({found})")
    if array.ndim != 1:
        raise DataError(f"expected a structured array of shape (n,), got {array.shape}")
    return {name: array[name] for name in array.dtype.names}
