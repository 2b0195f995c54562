"""Files of a few kilobytes, or a few megabytes, that ask a reader for gigabytes or minutes, written by hand.

`size` makes some of them larger: with 10, the memory and time that they once took were gigabytes and minutes.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np


def gltf(path: Path, buffer: bytes, **tree: Any) -> Path:
    """A glTF file with one buffer and what else is given."""
    data = "data:application/octet-stream;base64," + base64.b64encode(buffer).decode()
    whole = {"asset": {"version": "2.0"}, "buffers": [{"byteLength": len(buffer), "uri": data}], **tree}
    path.write_text(json.dumps(whole))
    return path


def strides(folder: Path, _size: int = 1) -> Path:
    """A buffer of 40 kB that two hundred accessors read over and over, with overlapping strides."""
    buffer = bytes(40_000)
    views = [{"buffer": 0, "byteLength": len(buffer), "byteStride": 4}]
    accessors = [{"bufferView": 0, "componentType": 5126, "count": 9_990, "type": "VEC3"} for _ in range(200)]
    meshes = [{"primitives": [{"attributes": {"POSITION": number}} for number in range(200)] * 40}]
    nodes = [{"mesh": 0} for _ in range(200)]
    scenes = [{"nodes": list(range(200))}]
    return gltf(
        folder / "strides.gltf",
        buffer,
        bufferViews=views,
        accessors=accessors,
        meshes=meshes,
        nodes=nodes,
        scenes=scenes,
        scene=0,
    )


def nodes(folder: Path, _size: int = 1) -> Path:
    """Thousands of nodes, one below the other, that all show the same mesh."""
    points = np.random.default_rng(0).normal(size=(3, 3)).astype("<f4")
    count = 20_000
    chain = [{"mesh": 0, "children": [number + 1]} for number in range(count - 1)] + [{"mesh": 0}]
    return gltf(
        folder / "nodes.gltf",
        points.tobytes(),
        bufferViews=[{"buffer": 0, "byteLength": 36}],
        accessors=[{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        meshes=[{"primitives": [{"attributes": {"POSITION": 0}}]}],
        nodes=chain,
        scenes=[{"nodes": [0]}],
        scene=0,
    )


def instances(folder: Path, _size: int = 1) -> Path:
    """A mesh of 30,000 vertices that ten thousand nodes show."""
    points = np.random.default_rng(0).normal(size=(30_000, 3)).astype("<f4")
    count = 10_000
    return gltf(
        folder / "instances.gltf",
        points.tobytes(),
        bufferViews=[{"buffer": 0, "byteLength": points.nbytes}],
        accessors=[{"bufferView": 0, "componentType": 5126, "count": len(points), "type": "VEC3"}],
        meshes=[{"primitives": [{"attributes": {"POSITION": 0}}]}],
        nodes=[{"mesh": 0} for _ in range(count)],
        scenes=[{"nodes": list(range(count))}],
        scene=0,
    )


def laz(path: Path, form: int, count: int = 200) -> bytearray:
    """The bytes of a valid LAZ file with random points."""
    import laspy

    header = laspy.LasHeader(point_format=form, version="1.4" if form > 5 else "1.2")
    header.scales, header.offsets = [0.001] * 3, [0.0] * 3
    file = laspy.LasData(header)
    file.x, file.y, file.z = np.random.default_rng(0).normal(size=(3, count))
    file.write(str(path))
    return bytearray(path.read_bytes())


def layers(folder: Path, _size: int = 1) -> Path:
    """A LAZ file whose first chunk claims layers of almost four gigabytes each."""
    path = folder / "layers.laz"
    data = laz(path, 6)
    start = struct.unpack("<I", data[96:100])[0]
    first = start + 8 + 30 + 4  # the offset of the chunk table, the first point, the number of points
    for layer in range(9):
        data[first + 4 * layer : first + 4 * layer + 4] = struct.pack("<I", 0xE0000000)
    path.write_bytes(data)
    return path


def claimed_points(folder: Path, _size: int = 1) -> Path:
    """A LAZ file of 200 points that claims nine hundred million."""
    path = folder / "points.laz"
    data = laz(path, 3)
    data[107:111] = struct.pack("<I", 900_000_000)
    path.write_bytes(data)
    return path


def blank_text(folder: Path, size: int = 1) -> Path:
    """Three million blank lines between three points."""
    path = folder / "blank.xyz"
    path.write_bytes(b"0 0 0\n" + b"\n" * 3_000_000 * size + b"1 1 1\n2 1 0\n")
    return path


def compressed_arrays(folder: Path, size: int = 1) -> Path:
    """An archive that unpacks to a thousand times its size on the disk, as points of one byte per coordinate."""
    path = folder / "compressed.npz"
    np.savez_compressed(path, points=np.zeros((4_000_000 * size, 3), np.int8))
    return path


def narrow_integers(folder: Path, size: int = 1) -> Path:
    """An array of one byte per coordinate, which become eight bytes and several copies."""
    path = folder / "narrow.npy"
    np.save(path, np.random.default_rng(0).integers(-100, 100, (4_000_000 * size, 3), np.int8))
    return path


def ragged_lists(folder: Path, size: int = 1) -> Path:
    """A PLY file with a million faces of one byte each, of which only the last has corners."""
    count = 1_000_000 * size
    head = (
        "ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    )
    head += f"element face {count}\nproperty list uchar int vertex_indices\nend_header\n"
    path = folder / "ragged.ply"
    corners = struct.pack("<B3i", 3, 0, 1, 2)
    path.write_bytes(head.encode() + np.eye(3, dtype="<f4").tobytes() + bytes(count - 1) + corners)
    return path


def materials(folder: Path, size: int = 1) -> Path:
    """An OBJ file with ten thousand materials, each for one face."""
    path = folder / "materials.obj"
    faces = "".join(f"usemtl m{number}\nf 1 2 3\n" for number in range(10_000 * size))
    path.write_text("mtllib none.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\n" + faces)
    return path


def solids(folder: Path, size: int = 1) -> Path:
    """A text STL with ten thousand solids of one triangle each."""
    path = folder / "solids.stl"
    corner = "vertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\n"
    facet = f"facet normal 0 0 1\nouter loop\n{corner}endloop\nendfacet\n"
    path.write_text("".join(f"solid s{number}\n{facet}endsolid s{number}\n" for number in range(10_000 * size)))
    return path


HOSTILE: dict[str, Callable[..., Path]] = {
    function.__name__: function
    for function in (
        strides,
        nodes,
        instances,
        layers,
        claimed_points,
        blank_text,
        compressed_arrays,
        narrow_integers,
        ragged_lists,
        materials,
        solids,
    )
}
