from __future__ import annotations

import io

import numpy as np
import pytest
import trimesh

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import read_shape
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.data.formats.obj import read_obj
from sampled_transformer.data.formats.point_files import Cloud
from sampled_transformer.data.formats.scenes import from_trimesh


def area(mesh: Mesh) -> float:
    corner = mesh.vertices[mesh.faces]
    return float(np.linalg.norm(np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1).sum() / 2)


OBJ = "mtllib ../secret.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvn 0 0 1\n"


@pytest.mark.parametrize(
    "faces",
    [
        "f 1 2 3\nf 1 3 4\n",
        "usemtl red\nf 1/1/1 2/1/1 3/1/1\nusemtl blue\nf 1/1/1 3/1/1 4/1/1\n",
        "f 1//1 2//1 3//1 4//1\n",
        "f -4 -3 -2 -1\n",
        "o one\nf 1 2 3\no two\nf 1/1 3/1 4/1\n",
    ],
)
def test_obj(tmp_path, faces):
    (tmp_path / "a.obj").write_text(OBJ + faces)
    mesh = read_obj(tmp_path / "a.obj")
    assert isinstance(mesh, Mesh)
    assert area(mesh) == pytest.approx(1)


def test_obj_polygon(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 2 0 0\nv 3 1 0\nv 2 2 0\nv 0 2 0\nv -1 1 0\nf 1 2 3 4 5 6\n")
    assert area(read_obj(tmp_path / "a.obj")) == pytest.approx(6)


def test_obj_without_faces_is_a_cloud(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0 255 0 0\nv 1 2 3 255 0 0\nvn 0 0 1\nvn 0 1 0\n")
    cloud = read_obj(tmp_path / "a.obj")
    assert isinstance(cloud, Cloud)
    assert cloud.points.tolist() == [[0, 0, 0], [1, 2, 3]]
    assert cloud.normals.tolist() == [[0, 0, 1], [0, 1, 0]]
    (tmp_path / "b.obj").write_text(OBJ)
    assert read_obj(tmp_path / "b.obj").normals is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing of the kind", r"a\.obj: points: expected at least 1 point, got none"),
        ("v 0 0 0\nv 1 1\n", r"a\.obj: expected three coordinates per vertex"),
        ("v 0 0 0\nv 1 0 0\nv 1 1\nf 1 2 3\n", r"a\.obj: "),
        (
            "v 0 0 0\nv 1 0 0\nv 1 1 nan\nf 1 2 3\n",
            r"a\.obj: vertices: expected finite numbers, got NaN or infinity in 1 of 3",
        ),
        ("v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 9\n", r"a\.obj: "),
        ("v 0 0 0\nv 1 0 0\nv 1 1 zero\nf 1 2 3\n", r"a\.obj: damaged OBJ file"),
    ],
)
def test_bad_obj(tmp_path, text, message):
    (tmp_path / "a.obj").write_text(text)
    with pytest.raises(DataError, match=message):
        read_shape(tmp_path / "a.obj", points=10)


def test_triangles_are_those_of_trimesh(tmp_path):
    text = (
        "# a comment\nv 9 9 9\nv 0 0 0 1\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 2 2\nvt 0 0\ng one\nf 2/1 3/1 4/1 5/1\n"
        "s off\nusemtl red\nf 2 3 6\nf 2 3\nf 2 3 \\\n4 5 6\n"
    )
    (tmp_path / "a.obj").write_text(text)
    file = io.BytesIO(text.encode())
    expected = from_trimesh(trimesh.load_scene(file, file_type="obj", process=False, skip_materials=True))

    def triangles(mesh: Mesh) -> list[list[list[float]]]:
        """Each from its smallest corner on, all in order."""
        turned = []
        for one in mesh.vertices[mesh.faces].tolist():
            first = one.index(min(one))
            turned.append(one[first:] + one[:first])
        return sorted(turned)

    mesh = read_obj(tmp_path / "a.obj")
    assert triangles(mesh) == triangles(expected)
    assert [9, 9, 9] not in mesh.vertices.tolist()  # no face uses it


def test_negative_numbers_count_from_the_face(tmp_path):
    (tmp_path / "a.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -3 -2 -1\nvn 0 0 1\nv 5 5 5\nv 6 5 5\nv 5 6 5\nf -3 -2 -1\n"
    )
    mesh = read_obj(tmp_path / "a.obj")
    assert mesh.vertices[mesh.faces][:, 0].tolist() == [[0, 0, 0], [5, 5, 5]]
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nf -3 -2 -1\nv 0 1 0\n")
    with pytest.raises(DataError, match="a vertex that is not there"):
        read_obj(tmp_path / "a.obj")


def test_comments_behind_a_line(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0 # first\nv 1 0 0\nv 0 1 0\nf 1//1 2//1 3//1 # a face\n")
    assert area(read_obj(tmp_path / "a.obj")) == pytest.approx(0.5)
