from __future__ import annotations

import struct

import numpy as np
import pytest
import trimesh

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.data.formats.stl import read_stl


def area(mesh: Mesh) -> float:
    corner = mesh.vertices[mesh.faces]
    return float(np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1).sum() / 2)


@pytest.mark.parametrize("kind", ["stl", "stl_ascii"])
def test_stl(tmp_path, kind):
    box = trimesh.creation.box((1, 2, 3))
    box.export(tmp_path / "a.stl", file_type=kind)
    mesh = read_stl(tmp_path / "a.stl")
    assert area(mesh) == pytest.approx(22)
    assert mesh.vertices.max(0).tolist() == pytest.approx([0.5, 1, 1.5])


def test_binary_stl_that_begins_with_solid(tmp_path):
    trimesh.creation.box().export(tmp_path / "a.stl")
    data = (tmp_path / "a.stl").read_bytes()
    (tmp_path / "a.stl").write_bytes(b"solid box" + data[9:])
    assert area(read_stl(tmp_path / "a.stl")) == pytest.approx(6)


@pytest.mark.parametrize("cut", [200, 10])
def test_truncated_stl(tmp_path, cut):
    trimesh.creation.box().export(tmp_path / "a.stl")
    (tmp_path / "a.stl").write_bytes((tmp_path / "a.stl").read_bytes()[:cut])
    with pytest.raises(DataError, match=r"header claims \d+ triangles"):
        read_stl(tmp_path / "a.stl")
    trimesh.creation.box().export(tmp_path / "b.stl", file_type="stl_ascii")
    (tmp_path / "b.stl").write_bytes((tmp_path / "b.stl").read_bytes()[:cut])
    with pytest.raises(DataError, match="truncated: no endsolid"):
        read_stl(tmp_path / "b.stl")


def test_stl_header_that_lies(tmp_path):
    (tmp_path / "a.stl").write_bytes(bytes(80) + struct.pack("<I", 2**32 - 1) + bytes(100))
    with pytest.raises(DataError, match="header claims 4294967295 triangles"):
        read_stl(tmp_path / "a.stl")


def test_text_with_several_solids_in_any_case(tmp_path):
    facet = "facet normal 0 0 1\n outer loop\n  VERTEX 0 0 0\n\tvertex 1 0 0\nvertex 0 {y} 0\nendloop\nendfacet\n"
    text = "".join(f"solid {name}\n{facet.format(y=y)}endsolid {name}\n" for name, y in (("vertex one", 1), ("b", 3)))
    (tmp_path / "a.stl").write_text(text)
    mesh = read_stl(tmp_path / "a.stl")
    assert mesh.faces.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert area(mesh) == pytest.approx(2)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("vertex 0 0 0\nvertex 1 0 0\n", "got 2 vertices in all"),
        ("vertex 0 0 0\nvertex 1 0\nvertex 1 1 1\n", "three vertices of three coordinates"),
        ("facet\n", "no vertices"),
    ],
)
def test_text_that_is_no_triangles(tmp_path, body, message):
    (tmp_path / "a.stl").write_text(f"solid a\n{body}endsolid a\n")
    with pytest.raises(DataError, match=message):
        read_stl(tmp_path / "a.stl")
