"""STL, OBJ and GLB/GLTF files, read with trimesh, plus the checks that trimesh omits."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ..errors import DataError
from .meshes import Mesh
from .point_files import Cloud

LARGEST_SCENE = 50_000_000  # vertices, counting every copy of a part
COMPRESSIONS = {"KHR_draco_mesh_compression", "EXT_meshopt_compression"}


def read_stl(path: Path) -> Mesh | Cloud:
    """Read STL, binary or text."""
    data = path.read_bytes()
    count = struct.unpack("<I", data[80:84])[0] if len(data) >= 84 else 0
    if count and len(data) == 84 + 50 * count:
        record = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])
        corners = np.frombuffer(data, record, offset=84)["corner"].reshape(-1, 3)
        return Mesh(corners.astype(np.float64), np.arange(3 * count).reshape(-1, 3))
    if not data[:512].lstrip().lower().startswith(b"solid"):
        size = f"{84 + 50 * count} bytes, but the file has {len(data)} bytes"
        raise DataError(f"header claims {count} triangles, which is {size}")
    if b"endsolid" not in data[-1000:].lower():
        raise DataError("truncated: no endsolid")
    return read_with_trimesh(path)


def read_gltf(path: Path) -> Mesh | Cloud:
    """Read GLB or GLTF, with every part of the scene moved to its place."""
    _check_gltf(path)
    return read_with_trimesh(path)


def read_with_trimesh(path: Path) -> Mesh | Cloud:
    """Read any format that trimesh knows, without materials and textures."""
    import trimesh

    resolver: Any = _SiblingFiles(path)
    with open(path, "rb") as file:
        scene: Any = trimesh.load_scene(
            file,
            file_type=path.suffix[1:].lower(),
            resolver=resolver,
            process=False,  # processing would silently drop NaN vertices
            skip_materials=True,
        )
    return from_trimesh(scene)


def from_trimesh(thing: Any) -> Mesh | Cloud:
    """The triangles of a trimesh mesh or scene, every part moved to its place; a cloud where there are none."""
    import trimesh

    scene = thing if isinstance(thing, trimesh.Scene) else trimesh.Scene(thing)
    placed = [scene.graph[node] for node in scene.graph.nodes_geometry]
    parts = [(matrix, scene.geometry[name]) for matrix, name in placed]
    if sum(len(part.vertices) for _, part in parts) > LARGEST_SCENE:
        raise DataError(f"scene too large: expected at most {LARGEST_SCENE} vertices")
    meshes = [(matrix, part) for matrix, part in parts if len(getattr(part, "faces", ()))]
    if not meshes:
        return _joined_cloud(parts)
    offsets = np.cumsum([0] + [len(part.vertices) for _, part in meshes])
    return Mesh(
        np.concatenate([trimesh.transform_points(part.vertices, matrix) for matrix, part in meshes]),
        np.concatenate([part.faces + offset for (_, part), offset in zip(meshes, offsets, strict=False)]),
    )


def _joined_cloud(parts: list[tuple[np.ndarray, Any]]) -> Cloud:
    import trimesh

    clouds = [(matrix, part.vertices) for matrix, part in parts if len(part.vertices)]
    if not clouds or any(np.shape(vertices)[1] != 3 for _, vertices in clouds):
        raise DataError("no vertices" if not clouds else "expected three coordinates per vertex")
    return Cloud(np.concatenate([trimesh.transform_points(vertices, matrix) for matrix, vertices in clouds]))


def read_obj(path: Path) -> Mesh | Cloud:
    """Read OBJ. Without faces it is a cloud, and keeps its normals if it has one per vertex."""
    lines = [
        line.split() for line in path.read_bytes().splitlines() if line.lstrip()[:2] in (b"v ", b"vn", b"f ", b"f\t")
    ]
    if any(words[0] == b"f" for words in lines):
        return read_with_trimesh(path)
    points, normals = ([words[1:4] for words in lines if words[0] == key] for key in (b"v", b"vn"))
    if any(len(row) != 3 for row in points + normals):
        raise DataError("expected three coordinates per vertex")
    table = np.array(points, dtype=np.float64).reshape(-1, 3)
    return Cloud(table, np.array(normals, dtype=np.float64) if len(normals) == len(points) > 0 else None)


def _check_gltf(path: Path) -> None:
    """Refuse what trimesh misreads: it reads compressed geometry as zeros and allocates whatever an accessor claims."""
    data = path.read_bytes()
    size = len(data)
    if data[:4] == b"glTF":
        length, json_length = struct.unpack("<8xII", data[:16].ljust(16, b"\0"))
        if length > size:
            raise DataError(f"truncated: header claims {length} bytes, but the file has {size}")
        data = data[20 : 20 + json_length]
    tree = json.loads(data.decode("utf-8"))
    if not isinstance(tree, dict):
        raise DataError("not a glTF file; expected a JSON object")
    compressed = COMPRESSIONS & {*tree.get("extensionsUsed", ()), *tree.get("extensionsRequired", ())}
    if compressed:
        raise DataError(f"compressed with {compressed.pop()}, which we cannot read; export it without compression")
    for accessor in tree.get("accessors", ()):
        if "bufferView" not in accessor and accessor["count"] > size:
            raise DataError(f"an accessor without data claims {accessor['count']} values")


class _SiblingFiles:
    """The files that trimesh may open in addition: the buffers of a .gltf file, and only in its own folder."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent.resolve()

    def __getitem__(self, name: str) -> bytes:
        from ..files import check_size

        path = (self.folder / unquote(name)).resolve()
        if not path.is_relative_to(self.folder):
            raise DataError(f"refers to '{name}', which is outside the folder of the file")
        check_size(path)
        return path.read_bytes()

    get = __getitem__
