"""GLB and GLTF files, read with trimesh, plus the checks that trimesh omits."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np

from ...support.printable import brief
from ..errors import DataError
from ..limits import check_need
from .meshes import Mesh
from .point_files import Cloud

LARGEST_SCENE = 50_000_000  # vertices, counting every copy of a part
MOST_STEPS = 1_000_000  # up to the root from all nodes together; trimesh walks them one by one
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}  # values per element
VALUE_BYTES = 16  # of one value of an accessor: as it is stored, and as the float64 or int64 that it becomes
VERTEX_BYTES = 200  # of one vertex of a part while parts are moved to their places and joined
COMPRESSIONS = {"KHR_draco_mesh_compression", "EXT_meshopt_compression"}


def read_gltf(path: Path) -> Mesh | Cloud:
    """Read GLB or GLTF, with every part of the scene moved to its place."""
    tree = _check_gltf(path)
    buffers = {buffer["uri"]: int(buffer["byteLength"]) for buffer in tree.get("buffers", ()) if "uri" in buffer}
    try:
        return read_with_trimesh(path, buffers)
    except AssertionError as error:  # most of trimesh's have no text
        raise DataError(
            str(error) or "the file contradicts itself about the lengths of its buffers and parts"
        ) from None


def read_with_trimesh(path: Path, lengths: dict[str, int] | None = None) -> Mesh | Cloud:
    """Read any format that trimesh knows, without materials and textures; see `_SiblingFiles` for the lengths."""
    import trimesh

    resolver: Any = _SiblingFiles(path, lengths or {})
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


def _check_gltf(path: Path) -> dict[str, Any]:
    """The tree of a file, without what trimesh misreads.

    It reads compressed geometry as zeros and allocates whatever an accessor claims.
    """
    data = path.read_bytes()
    size = len(data)
    if data[:4] == b"glTF":
        length, json_length = struct.unpack("<8xII", data[:16].ljust(16, b"\0"))
        if length > size:
            raise DataError(f"truncated: header claims {length} bytes, but the file has {size}")
        place = 12
        while place + 8 <= size:  # trimesh makes room for a chunk before it looks whether there is one
            place += 8 + struct.unpack("<I", data[place : place + 4])[0]
        if place > size:
            raise DataError(f"truncated: the chunks claim {place} bytes, but the file has {size}")
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
    _check_need(tree)
    _check_nodes(tree.get("nodes", []))
    return tree


def _check_need(tree: dict[str, Any]) -> None:
    """Refuse what would not fit into memory: strides may overlap, and parts and nodes may share data."""
    views = sum(max(0, int(view["byteLength"])) for view in tree.get("bufferViews", []))
    check_need(views, f"{len(tree.get('bufferViews', [])):,} views of buffers")
    accessors = tree.get("accessors", [])
    counts = [max(0, int(accessor["count"])) for accessor in accessors]
    values = sum(count * WIDTHS[accessor["type"]] for accessor, count in zip(accessors, counts, strict=True))
    check_need(VALUE_BYTES * values, f"{len(counts):,} accessors with {values:,} values")
    vertices = [
        sum(counts[part["attributes"]["POSITION"]] for part in mesh["primitives"] if "POSITION" in part["attributes"])
        for mesh in tree.get("meshes", [])
    ]
    check_need(VERTEX_BYTES * sum(vertices), f"meshes with {sum(vertices):,} vertices")
    shown = sum(vertices[node["mesh"]] for node in tree.get("nodes", []) if "mesh" in node)
    check_need(VERTEX_BYTES * shown, f"{len(tree.get('nodes', [])):,} nodes with {shown:,} vertices")


def _check_nodes(nodes: list[dict[str, Any]]) -> None:
    """Refuse nodes that are nested so deeply that finding their places takes minutes, and those that go in circles."""
    above = {child: number for number, node in enumerate(nodes) for child in node.get("children", ())}
    depth: dict[int, int] = {}
    for number in range(len(nodes)):
        way = [number]
        while way[-1] not in depth and way[-1] in above:
            way.append(above[way[-1]])
            if len(way) > len(nodes):
                raise DataError("expected a tree of nodes, got a circle")
        known = depth.get(way[-1], 0)
        depth |= {node: known + steps for steps, node in enumerate(reversed(way))}
    if sum(depth.values()) > MOST_STEPS:
        raise DataError(f"too large a tree: {len(nodes):,} nodes, nested up to {max(depth.values()):,} deep")


class _SiblingFiles:
    """The files that trimesh may open in addition: the buffers of a .gltf file, and only in its own folder.

    `lengths` says how many bytes a buffer has at least; a shorter one was written for another file.
    """

    def __init__(self, path: Path, lengths: dict[str, int]) -> None:
        self.folder, self.lengths = path.parent.resolve(), lengths

    def __getitem__(self, name: str) -> bytes:
        from ..files import check_size, named_errors

        path = (self.folder / unquote(name)).resolve()
        if not path.is_relative_to(self.folder):
            raise DataError(f"refers to '{brief(name)}', which is outside the folder of the file")
        with named_errors(f"refers to '{brief(name)}'"):
            check_size(path)
        data, expected = path.read_bytes(), self.lengths.get(name, 0)
        if len(data) < expected:
            belongs = "which may belong to another file"
            raise DataError(f"refers to '{brief(name)}', {belongs}: expected {expected} bytes, got {len(data)}")
        return data

    get = __getitem__
