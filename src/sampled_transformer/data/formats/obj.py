"""OBJ files. With faces they are meshes, without they are clouds. Materials, groups, lines and curves do not matter."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..errors import DataError
from .meshes import Mesh, fan
from .point_files import Cloud

KEPT = (b"v ", b"v\t", b"vn", b"f ", b"f\t")  # how the lines begin that we read
TEXTURE = re.compile(rb"/\S*")  # what follows the number of a vertex in a face: 7/3/1


def read_obj(path: Path) -> Mesh | Cloud:
    """Read OBJ. Without faces it is a cloud, and keeps its normals if it has one per vertex."""
    data = path.read_bytes()
    if b"\\" in data:
        data = re.sub(rb"\\\r?\n", b" ", data)  # a line that goes on in the next one
    lines = [line for line in map(bytes.lstrip, data.splitlines()) if line[:2] in KEPT]
    if b"#" in data:
        lines = [line.partition(b"#")[0] for line in lines]
    vertices = _coordinates([line for line in lines if line[1:2] in b" \t" and line[:1] == b"v"])
    if any(line[:1] == b"f" for line in lines):
        return _mesh(vertices, lines)
    normals = _coordinates([line for line in lines if line[:2] == b"vn"])
    return Cloud(vertices, normals if len(normals) == len(vertices) > 0 else None)


def _coordinates(lines: list[bytes]) -> np.ndarray:
    """The first three numbers of each line, (n, 3); a weight or a colour may follow."""
    rows = [line.split(None, 4)[1:4] for line in lines]
    if any(len(row) != 3 for row in rows):
        raise DataError("expected three coordinates per vertex")
    return np.array(rows, dtype=np.float64).reshape(-1, 3)


def _mesh(vertices: np.ndarray, lines: list[bytes]) -> Mesh:
    """The triangles of all faces, and the vertices that they use."""
    faces = [line[1:] for line in lines if line[:1] == b"f"]
    words = [TEXTURE.sub(b"", face).split() for face in faces]
    lengths = np.array([len(face) for face in words])
    corners = np.array([word for face in words for word in face]).astype(np.int64)
    if (corners < 0).any():  # counted back from the vertices above the face
        above = np.cumsum([line[:1] == b"v" and line[:2] != b"vn" for line in lines])
        above = above[[line[:1] == b"f" for line in lines]]
        corners = np.where(corners < 0, np.repeat(above, lengths) + corners, corners - 1)
    else:
        corners = corners - 1
    if corners.size and not 0 <= corners.min() <= corners.max() < len(vertices):
        raise DataError(f"a face refers to a vertex that is not there; the file has {len(vertices)} vertices")
    used, places = np.unique(fan(corners, lengths), return_inverse=True)
    return Mesh(vertices[used], places.reshape(-1, 3))
