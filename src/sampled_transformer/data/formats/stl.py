"""STL files, binary and text. The names of solids and the normals of facets do not matter."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from ..errors import DataError
from .meshes import Mesh

RECORD = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])
HEADER = 84  # bytes before the first triangle


def read_stl(path: Path) -> Mesh:
    """Read STL, binary or text."""
    data = path.read_bytes()
    count = struct.unpack("<I", data[80:HEADER])[0] if len(data) >= HEADER else 0
    if count and len(data) == HEADER + RECORD.itemsize * count:
        corners = np.frombuffer(data, RECORD, offset=HEADER)["corner"].reshape(-1, 3)
        return Mesh(corners.astype(np.float64), np.arange(3 * count).reshape(-1, 3))
    if not data[:512].lstrip().lower().startswith(b"solid"):
        size = f"{HEADER + RECORD.itemsize * count} bytes, but the file has {len(data)} bytes"
        raise DataError(f"header claims {count} triangles, which is {size}")
    if b"endsolid" not in data[-1000:].lower():
        raise DataError("truncated: no endsolid")
    return _read_text(data)


def _read_text(data: bytes) -> Mesh:
    """The triangles of all solids, three lines `vertex x y z` each."""
    rows = [line.split()[1:] for line in map(bytes.lstrip, data.splitlines()) if line[:6].lower() == b"vertex"]
    if len(rows) % 3 or any(len(row) != 3 for row in rows):
        raise DataError(f"expected three vertices of three coordinates per facet, got {len(rows)} vertices in all")
    if not rows:
        raise DataError("no vertices")
    corners = np.array(rows, dtype=np.float64)
    return Mesh(corners, np.arange(len(corners)).reshape(-1, 3))
