"""GLB and GLTF."""

import base64
import json
import struct

import numpy as np
import pytest
import trimesh

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import read_shape
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.data.formats.scenes import from_trimesh, read_gltf


def area(mesh: Mesh) -> float:
    corner = mesh.vertices[mesh.faces]
    return float(np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1).sum() / 2)


def two_boxes() -> trimesh.Scene:
    scene = trimesh.Scene(trimesh.creation.box((2, 2, 2)))
    scene.add_geometry(trimesh.creation.box((1, 1, 1)), transform=trimesh.transformations.translation_matrix((9, 0, 0)))
    return scene


@pytest.mark.parametrize("kind", ["glb", "gltf"])
def test_parts_of_a_scene_stand_in_their_places(tmp_path, kind):
    if kind == "glb":
        two_boxes().export(tmp_path / "a.glb")
    else:
        for name, data in trimesh.exchange.gltf.export_gltf(two_boxes()).items():
            (tmp_path / name.replace("model.gltf", "a.gltf")).write_bytes(data)
    mesh = read_gltf(tmp_path / f"a.{kind}")
    assert area(mesh) == pytest.approx(30)
    assert mesh.vertices.max(0).tolist() == pytest.approx([9.5, 1, 1])


def gltf(positions: np.ndarray, **changes: object) -> dict:
    data = positions.astype("<f4").tobytes()
    tree = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "buffers": [{"byteLength": len(data), "uri": "data:;base64," + base64.b64encode(data).decode()}],
        "bufferViews": [{"buffer": 0, "byteLength": len(data)}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": len(positions), "type": "VEC3"}],
    }
    return tree | changes


TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])


def test_gltf_buffer_inside_the_file(tmp_path):
    (tmp_path / "a.gltf").write_text(json.dumps(gltf(TRIANGLE)))
    assert area(read_gltf(tmp_path / "a.gltf")) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (
            gltf(np.array([[0, 0, 0], [1, 0, 0], [0, np.nan, 0]])),
            "vertices: expected finite numbers, got NaN or infinity in 1 of 3",
        ),
        (gltf(TRIANGLE, accessors=[{"componentType": 5126, "count": 10**12, "type": "VEC3"}]), "claims 1000000000000"),
        (
            gltf(TRIANGLE, accessors=[{"bufferView": 0, "componentType": 5126, "count": 10**12, "type": "VEC3"}]),
            "1 accessors with 3,000,000,000,000 values need about",
        ),
        (
            gltf(TRIANGLE, accessors=[{"bufferView": 0, "componentType": 5126, "count": 9, "type": "VEC3"}]),
            "damaged GLTF file",
        ),
        (gltf(TRIANGLE, extensionsUsed=["KHR_draco_mesh_compression"]), "compressed with KHR_draco_mesh_compression"),
        (gltf(TRIANGLE, buffers=[{"byteLength": 36, "uri": "../outside.bin"}]), "'../outside.bin', which is outside"),
        (gltf(TRIANGLE, buffers=[{"byteLength": 36, "uri": "link.bin"}]), r"'link.bin', which is outside"),
        (
            gltf(TRIANGLE, buffers=[{"byteLength": 36, "uri": "http://localhost/a.bin"}]),
            r"refers to 'http://localhost/a\.bin': No such file",
        ),
        (gltf(TRIANGLE, buffers=[{"byteLength": 36, "uri": "missing.bin"}]), "'missing.bin': No such file"),
        (gltf(TRIANGLE, buffers=[{"byteLength": 36, "uri": "../" + "x" * 9000}]), r"xxx\.\.\.', which is outside"),
        (
            gltf(TRIANGLE, buffers=[{"byteLength": 36, "uri": "short.bin"}]),
            r"refers to 'short\.bin', which may belong to another file: expected 36 bytes, got 9$",
        ),
        (
            gltf(TRIANGLE, buffers=[{"byteLength": 36, "uri": "data:application/octet-stream;base64,AAAA"}]),
            "the file contradicts itself about the lengths of its buffers and parts",
        ),
        (gltf(TRIANGLE, meshes=[]), r"a\.gltf: "),
        ([], "not a glTF file"),
    ],
)
def test_bad_gltf(tmp_path, tree, message):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(TRIANGLE.astype("<f4").tobytes())
    (folder / "short.bin").write_bytes(bytes(9))
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    (folder / "a.gltf").write_text(json.dumps(tree))
    with pytest.raises(DataError, match=message) as error:
        read_shape(folder / "a.gltf", points=10)
    assert str(error.value).startswith(str(folder / "a.gltf") + ": ")


@pytest.mark.parametrize("cut", [3, 30, 700, -1])
def test_truncated_glb(tmp_path, cut):
    two_boxes().export(tmp_path / "a.glb")
    (tmp_path / "a.glb").write_bytes((tmp_path / "a.glb").read_bytes()[:cut])
    with pytest.raises(DataError, match=r"a\.glb: "):
        read_shape(tmp_path / "a.glb")


def test_scene_of_too_many_copies(tmp_path):
    """A small file may place one part a million times."""
    count = 4000
    tree = gltf(
        np.tile(TRIANGLE, (6000, 1)),
        nodes=[{"mesh": 0} for _ in range(count)],
        scenes=[{"nodes": list(range(count))}],
    )
    (tmp_path / "a.gltf").write_text(json.dumps(tree))
    with pytest.raises(DataError, match=r"4,000 nodes with 72,000,000 vertices need about 14\.4 GB, more than 2 GB"):
        read_shape(tmp_path / "a.gltf")


def test_chunks_that_are_not_there(tmp_path):
    two_boxes().export(tmp_path / "a.glb")
    data = bytearray((tmp_path / "a.glb").read_bytes())
    length = struct.unpack("<I", data[12:16])[0]
    data[20 + length : 24 + length] = struct.pack("<I", 3_000_000_000)
    (tmp_path / "a.glb").write_bytes(data)
    with pytest.raises(DataError, match="truncated: the chunks claim 300000"):
        read_gltf(tmp_path / "a.glb")


def test_nodes_in_a_circle(tmp_path):
    nodes = [{"mesh": 0, "children": [1]}, {"mesh": 0, "children": [0]}]
    (tmp_path / "a.gltf").write_text(json.dumps(gltf(TRIANGLE, nodes=nodes)))
    with pytest.raises(DataError, match="expected a tree of nodes, got a circle"):
        read_gltf(tmp_path / "a.gltf")


def test_what_trimesh_holds_in_memory():
    box = trimesh.creation.box((1, 2, 3))
    mesh = from_trimesh(box)
    np.testing.assert_array_equal(mesh.vertices, box.vertices)
    np.testing.assert_array_equal(mesh.faces, box.faces)
    placed = from_trimesh(two_boxes())
    assert area(placed) == pytest.approx(24 + 6)
    assert placed.vertices[:, 0].max() == 9.5
    cloud = from_trimesh(trimesh.PointCloud(np.arange(12.0).reshape(4, 3)))
    np.testing.assert_array_equal(cloud.points, np.arange(12.0).reshape(4, 3))
    with pytest.raises(DataError, match="no vertices"):
        from_trimesh(trimesh.Scene())
