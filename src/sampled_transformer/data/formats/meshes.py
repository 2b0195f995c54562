"""Triangle meshes: drawing points from the surface, and the OFF format.

Other mesh formats: ply.py reads PLY, obj.py OBJ, stl.py STL, and scenes.py GLTF.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import DataError
from .point_files import Cloud


class Mesh(NamedTuple):
    """Vertices (n, 3), and triangles (m, 3) as indices into the vertices."""

    vertices: np.ndarray
    faces: np.ndarray


def fan(corners: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Split polygons into triangles (m, 3) that share the polygon's first corner (a triangle fan).

    `corners` lists the corners of all polygons one after the other; `lengths` is the number of corners per polygon.
    """
    count = np.maximum(lengths - 2, 0)
    start = np.repeat(np.cumsum(lengths) - lengths, count)
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    triangles: np.ndarray = corners[np.stack([start, start + step + 1, start + step + 2], 1)]
    return triangles


def sample_surface(mesh: Mesh, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw `count` points uniformly by area; return them (count, 3) and the normals of their faces."""
    origin = mesh.vertices.min(0)
    extent = (mesh.vertices - origin).max() or 1.0
    corner = ((mesh.vertices - origin) / extent)[mesh.faces]  # (m, 3, 3); scaled so that no square overflows
    edges = corner[:, 1:] - corner[:, :1]
    cross = _cross(edges[:, 0], edges[:, 1])
    x, y, z = cross.T
    area = np.sqrt(x * x + y * y + z * z)  # twice the area; numpy sums rows of three one at a time
    if area.sum() < 1e-12:
        raise DataError(f"no surface: the {len(mesh.faces)} faces have no area")
    solid = np.flatnonzero(area)
    total = np.cumsum(area[solid])
    drawn = solid[np.searchsorted(total, generator.random(count) * total[-1], side="right").clip(max=len(solid) - 1)]
    weight = generator.random((count, 2))
    one, other = weight[:, :1], weight[:, 1:]
    weight = np.where(one + other > 1, 1 - weight, weight)  # fold the unit square onto the triangle
    along = edges[drawn]
    points = corner[drawn, 0] + (weight[:, :1] * along[:, 0] + weight[:, 1:] * along[:, 1])
    return points * extent + origin, cross[drawn] / area[drawn, None]


def _cross(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The cross products of rows, as np.cross, which takes several times as long for few rows."""
    (a, b, c), (d, e, f) = first.T, second.T
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], 1)


def read_off(path: Path) -> Mesh | Cloud:
    """Read an OFF file. Many ModelNet40 files join the keyword and the counts ("OFF1234 5678 0"); we accept that."""
    data = path.read_bytes()
    if b"#" in data:
        data = b"\n".join(line.split(b"#", 1)[0] for line in data.splitlines())
    keyword, found, body = data[:1000].partition(b"OFF")
    if not found or len(keyword.strip()) > 4 or body.lstrip().startswith(b"BINARY"):
        raise DataError("expected a text OFF file, which begins with the word OFF")
    body = data[len(keyword) + len(found) :]
    words = body.split()
    try:
        vertex_count, face_count = int(words[0]), int(words[1])
    except (IndexError, ValueError):
        raise DataError("expected the numbers of vertices and faces after the word OFF") from None
    if face_count > 0 and len(words) == 3 + 3 * vertex_count + 4 * face_count:
        numbers = np.array(words[3:], dtype=np.float64)
        faces = numbers[3 * vertex_count :].reshape(-1, 4)
        if (faces[:, 0] == 3).all():
            return Mesh(numbers[: 3 * vertex_count].reshape(-1, 3), faces[:, 1:].astype(np.int64))
    return _read_off_lines([line for line in body.splitlines() if line.strip()][1:], vertex_count, face_count)


def _read_off_lines(lines: list[bytes], vertex_count: int, face_count: int) -> Mesh | Cloud:
    """Read OFF line by line, as needed for polygons, colours and clouds."""
    if min(vertex_count, face_count) < 0 or vertex_count + face_count > len(lines):
        claim = f"{vertex_count} vertices and {face_count} faces"
        raise DataError(f"header claims {claim}, but only {len(lines)} lines follow")
    vertices = _rows(lines[:vertex_count], 3)
    polygons = [line.split() for line in lines[vertex_count : vertex_count + face_count]]
    if not polygons:
        return Cloud(vertices)
    lengths = np.array([int(words[0]) for words in polygons])
    corners = [words[1 : 1 + length] for words, length in zip(polygons, lengths, strict=True)]
    if any(len(corner) != length for corner, length in zip(corners, lengths, strict=True)):
        raise DataError("a face lists fewer corners than it claims")
    return Mesh(vertices, fan(np.array([int(word) for corner in corners for word in corner]), lengths))


def _rows(lines: list[bytes], width: int) -> np.ndarray:
    """The first `width` numbers of each line."""
    words = b" ".join(lines).split()
    if len(words) != width * len(lines):
        rows = [line.split()[:width] for line in lines]
        short = next((number for number, row in enumerate(rows, 1) if len(row) < width), None)
        if short is not None:
            raise DataError(f"vertex {short}: expected {width} numbers, got {len(rows[short - 1])}")
        words = [word for row in rows for word in row]
    return np.array(words, dtype=np.float64).reshape(-1, width)
