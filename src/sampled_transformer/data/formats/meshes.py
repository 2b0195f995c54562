"""Triangle meshes: points drawn from their surface by area, and the OFF format (others: ply.py, scenes.py)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import DataError
from .point_files import Cloud


class Mesh(NamedTuple):
    """Vertices (n, 3) and triangles (m, 3) of indices into them."""

    vertices: np.ndarray
    faces: np.ndarray


def fan(corners: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Polygons, one after the other in `corners`, as triangles (m, 3) that share each polygon's first corner."""
    count = np.maximum(lengths - 2, 0)
    start = np.repeat(np.cumsum(lengths) - lengths, count)
    step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return corners[np.stack([start, start + step + 1, start + step + 2], 1)]


def sample_surface(mesh: Mesh, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """`count` points (n, 3), uniform by area, and the normals of the faces they lie on."""
    origin = mesh.vertices.min(0)
    extent = (mesh.vertices - origin).max() or 1.0
    corner = ((mesh.vertices - origin) / extent)[mesh.faces]  # (m, 3, 3), so that no square leaves the range of floats
    edges = corner[:, 1:] - corner[:, :1]
    cross = np.cross(edges[:, 0], edges[:, 1])
    area = np.sqrt(np.square(cross).sum(1))  # twice the area
    if area.sum() < 1e-12:
        raise DataError(f"no surface: its {len(mesh.faces)} faces have no area")
    solid = np.flatnonzero(area)
    total = np.cumsum(area[solid])
    drawn = solid[np.searchsorted(total, generator.random(count) * total[-1], side="right").clip(max=len(solid) - 1)]
    weight = generator.random((count, 2, 1))
    weight = np.where(weight.sum(1, keepdims=True) > 1, 1 - weight, weight)  # fold the square onto the triangle
    points = corner[drawn, 0] + (weight * edges[drawn]).sum(1)
    return points * extent + origin, cross[drawn] / area[drawn, None]


def read_off(path: Path) -> Mesh | Cloud:
    """OFF, also with its counts on the first line ("OFF1234 5678 0"), as many files of ModelNet40 have them."""
    data = path.read_bytes()
    if b"#" in data:
        data = b"\n".join(line.split(b"#", 1)[0] for line in data.splitlines())
    keyword, found, body = data[:1000].partition(b"OFF")
    if not found or len(keyword.strip()) > 4 or body.lstrip().startswith(b"BINARY"):
        raise DataError("expected an OFF file in text form, which begins with the word OFF")
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
    """OFF that is not all triangles without colours: here the lines matter."""
    if min(vertex_count, face_count) < 0 or vertex_count + face_count > len(lines):
        claim = f"{vertex_count} vertices and {face_count} faces"
        raise DataError(f"header claims {claim}, but {len(lines)} lines follow it: truncated?")
    vertices = _rows(lines[:vertex_count], 3)
    polygons = [line.split() for line in lines[vertex_count : vertex_count + face_count]]
    if not polygons:
        return Cloud(vertices)
    lengths = np.array([int(words[0]) for words in polygons])
    corners = [words[1 : 1 + length] for words, length in zip(polygons, lengths, strict=True)]
    if any(len(corner) != length for corner, length in zip(corners, lengths, strict=True)):
        raise DataError("a face has fewer corners than it claims")
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
