"""PCD clouds, read with pypcd4. It trusts the header, so we first compare the header with the file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...support.printable import brief
from ..errors import DataError
from ..limits import POINT_BYTES, check_need
from .npz import EXPANSION
from .point_files import Cloud, missing_reader, named_columns

LONGEST_HEADER = 10_000  # lines; comments may name classes
MOST_ENTRIES = 10  # lines of a header that are no comments; pypcd4 takes what follows for data
PADDING = "#$%&~~"  # how pypcd4 names fields called _, which have no meaning


class PcdTable(NamedTuple):
    """What a PCD file holds."""

    header: Any  # pypcd4's MetaData
    lines: list[str]  # of the header
    start: int  # offset of the first byte after the header
    data: np.ndarray  # structured, (points,)


def read_pcd(path: Path) -> Cloud:
    """Read PCD in any encoding. In an organised cloud (height > 1), NaN marks pixels without a point; we skip them."""
    header, _, _, data = parse_pcd(path)
    positions, normals = positions_and_normals(data)
    table = np.stack([data[name] for name in positions + normals], 1)
    if header.height > 1:
        table = table[~np.isnan(table).any(1)]
    return Cloud(table[:, :3], table[:, 3:6] if normals else None)


def parse_pcd(path: Path) -> PcdTable:
    """Read every field of every point, after a check that the file can hold what its header claims."""
    try:
        from pypcd4.pypcd4 import MetaData, PointCloud
    except ImportError:
        raise missing_reader("pypcd4") from None
    with open(path, "rb") as file:
        lines: list[str] = []
        while not (lines and lines[-1].startswith("DATA")):
            line = file.readline(4096).decode("utf-8", "surrogateescape")
            if not line or len(lines) > LONGEST_HEADER:
                raise DataError("not a PCD file; expected a header that ends with a DATA line")
            lines.append(line.strip())
        if sum(bool(line) and not line.startswith("#") for line in lines) > MOST_ENTRIES:
            raise DataError(f"expected at most {MOST_ENTRIES} entries in the header, got more")
        start = file.tell()
        header = MetaData.parse_header(lines)
        available = os.fstat(file.fileno()).st_size - start
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
    check_need(header.points * (row + POINT_BYTES), f"{header.points:,} points of {row} bytes")
    if needed > available:
        raise DataError(f"header claims {header.points} points, but only {available} bytes follow")
    cloud = PointCloud.from_path(path)
    data = np.atleast_1d(cloud.pc_data)  # numpy reads a single line of text as a scalar
    if len(data) != header.points:
        raise DataError(f"header claims {header.points} points, but the file has {len(data)}")
    return PcdTable(header, lines, start, data)


def positions_and_normals(data: np.ndarray) -> tuple[list[str], list[str]]:
    """The names of the fields that hold the points, and of those that hold the normals, if there are any."""
    fields = list(data.dtype.names or ())
    positions, normals = named_columns(fields)
    if positions is None:
        raise DataError(f"no points; expected the fields x, y, z, got {brief(', '.join(fields), 200)}")
    return [fields[i] for i in positions], [fields[i] for i in normals or []]


def points_in(table: PcdTable) -> np.ndarray:
    """Which rows are points (n,): in an organised cloud, rows with NaN in their position are pixels without one."""
    positions, _ = positions_and_normals(table.data)
    if table.header.height == 1:
        return np.ones(len(table.data), bool)
    there: np.ndarray = ~np.isnan(np.stack([table.data[name] for name in positions], 1)).any(1)
    return there


def pcd_fields(table: PcdTable) -> dict[str, np.ndarray]:
    """Every field by name, for the rows that are points. Packed colours become red, green and blue."""
    rows = points_in(table)
    fields: dict[str, np.ndarray] = {}
    for name in table.data.dtype.names or ():
        if name.startswith(PADDING):
            continue
        values = table.data[name][rows]
        if name.lower() in ("rgb", "rgba") and values.dtype.itemsize == 4:
            # PCL stores the four bytes alpha, red, green and blue in one number, even if it calls that a float.
            packed = np.ascontiguousarray(values).view(np.uint32)
            for colour, shift in (("red", 16), ("green", 8), ("blue", 0)):
                fields[colour] = (packed >> shift & 255).astype(np.uint8)
        else:
            fields[name] = values
    return fields
