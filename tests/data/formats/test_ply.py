"""PLY: every encoding gives the same mesh, polygons of several sizes, clouds with normals, false headers."""

import struct

import numpy as np
import pytest
import trimesh

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.data.formats.ply import parse_ply, ply_fields, read_ply
from sampled_transformer.data.formats.point_files import Cloud

VERTICES = [[0.0, 0.0, 0.5], [1.0, 0.0, 0.5], [1.0, 1.0, 0.5], [0.0, 1.0, 0.5], [0.5, 0.5, 2.0]]


def ply(encoding: str, faces: list[list[int]], extra_element: bool = False) -> bytes:
    """Vertices as double with a colour between, faces with a flag before and a list of uv after their corners."""
    header = ["ply", f"format {encoding} 1.0", "comment made by a test"]
    if extra_element:
        header += ["element camera 2", "property float zoom", "property list uchar short pixels"]
    header += [f"element vertex {len(VERTICES)}", "property double x", "property uchar red"]
    header += ["property double y", "property double z", f"element face {len(faces)}", "property char flag"]
    header += ["property list uchar int vertex_indices", "property list uchar float uv", "end_header", ""]
    order = ">" if "big" in encoding else "<"
    rows: list[tuple[str, list[float]]] = [("fBhh", [1.5, 2, 7, 8]), ("fB", [1.5, 0])] if extra_element else []
    rows += [("dBdd", [x, 200, y, z]) for x, y, z in VERTICES]
    rows += [(f"bB{len(face)}iB2f", [-1, len(face), *face, 2, 0.25, 0.5]) for face in faces]
    if encoding == "ascii":
        return ("\n".join(header) + "\n".join(" ".join(map(str, row)) for _, row in rows) + "\n").encode()
    return "\n".join(header).encode() + b"".join(struct.pack(order + form, *row) for form, row in rows)


@pytest.mark.parametrize("extra_element", [False, True])
@pytest.mark.parametrize("encoding", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize(
    ("faces", "triangles"),
    [
        ([[0, 1, 4], [1, 2, 4]], [[0, 1, 4], [1, 2, 4]]),
        ([[0, 1, 2, 3]], [[0, 1, 2], [0, 2, 3]]),
        ([[0, 1, 2, 3], [0, 1, 4], [1, 2, 4]], [[0, 1, 2], [0, 2, 3], [0, 1, 4], [1, 2, 4]]),
    ],
    ids=["triangles", "quads", "mixed"],
)
def test_encodings_and_polygons(tmp_path, encoding, faces, triangles, extra_element):
    (tmp_path / "a.ply").write_bytes(ply(encoding, faces, extra_element))
    mesh = read_ply(tmp_path / "a.ply")
    assert isinstance(mesh, Mesh)
    assert mesh.vertices.tolist() == VERTICES
    assert mesh.faces.tolist() == triangles


@pytest.mark.parametrize("encoding", ["ascii", "binary"])
def test_reads_what_trimesh_writes(tmp_path, encoding):
    box = trimesh.creation.icosphere(2)
    box.export(tmp_path / "a.ply", encoding=encoding)
    mesh = read_ply(tmp_path / "a.ply")
    np.testing.assert_allclose(mesh.vertices, box.vertices, atol=1e-6)
    np.testing.assert_array_equal(mesh.faces, box.faces)


@pytest.mark.parametrize("faces", ["", "element face 0\nproperty list uchar int vertex_index\n"])
def test_cloud_keeps_its_normals(tmp_path, faces):
    header = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float nx\nproperty float ny\nproperty float nz\n"
    header += f"property float x\nproperty float y\nproperty float z\n{faces}end_header\n"
    (tmp_path / "a.ply").write_text(header + "0 0 1 1 2 3\n0 1 0 4 5 6\n")
    cloud = read_ply(tmp_path / "a.ply")
    assert isinstance(cloud, Cloud)
    assert cloud.points.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert cloud.normals.tolist() == [[0, 0, 1], [0, 1, 0]]


def header(count: str, encoding: str = "binary_little_endian", tail: str = "") -> bytes:
    text = f"ply\nformat {encoding} 1.0\nelement vertex {count}\nproperty float x\nproperty float y\nproperty float z\n"
    return f"{text}{tail}end_header\n".encode()


FACE = "element face {}\nproperty list uchar int vertex_indices\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a PLY header"),
        (b"ply\nformat ascii 1.0\nelement vertex 3\n", "expected a PLY header"),
        (b"ply\nelement vertex 0\nend_header\n", "names no known format"),
        (header("3", "binary_middle_endian"), "unknown header line"),
        (header("many"), "unknown header line 'element vertex many'"),
        (header("-1"), "unknown header line"),
        (
            header("1000000000000") + bytes(1000),
            "header claims 1000000000000 rows of 'vertex', more than the file can hold",
        ),
        (header("1000000000000", "ascii") + b"0 0 0\n", "header claims 1000000000000 rows of 'vertex'"),
        (header("3") + bytes(35), "truncated"),
        (header("3", "ascii") + b"0 0 0\n1 0 0\n1 1\n", "more than the file can hold"),
        (header("1", tail=FACE.format(10**12)) + bytes(100), "header claims 1000000000000 rows of 'face'"),
        (header("1", tail=FACE.format(2)) + bytes(12) + b"\3" + bytes(12) + b"\xff" + bytes(12), "wrong length"),
        (header("1", "ascii", FACE.format(1)) + b"0 0 0 -3 0 0 0", "wrong length"),
        (header("1", "ascii", FACE.format(1)) + b"0 0 0 4000000000 0 0", "wrong length"),
        (b"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\n1\n", "vertices with x, y, z"),
    ],
)
def test_bad_files(tmp_path, data, message):
    (tmp_path / "a.ply").write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_ply(tmp_path / "a.ply")


def test_a_comment_may_mention_the_end_of_the_header(tmp_path):
    data = header("1", "ascii").replace(b"element", b"comment class 0 end_header\nelement", 1) + b"1 2 3\n"
    (tmp_path / "a.ply").write_bytes(data)
    assert read_ply(tmp_path / "a.ply").points.tolist() == [[1, 2, 3]]


def test_what_a_file_holds_beside_its_points(tmp_path):
    (tmp_path / "a.ply").write_bytes(ply("binary_big_endian", [], extra_element=True))
    parsed = parse_ply(tmp_path / "a.ply")
    assert {name: values.tolist() for name, values in ply_fields(parsed).items()} == {
        "x": [x for x, _, _ in VERTICES],
        "red": [200] * 5,
        "y": [y for _, y, _ in VERTICES],
        "z": [z for _, _, z in VERTICES],
    }
    assert "comment made by a test" in parsed.header
    (tmp_path / "b.ply").write_bytes(ply("ascii", [[0, 1, 2]]))
    with pytest.raises(DataError, match="a mesh has no points to label"):
        ply_fields(parse_ply(tmp_path / "b.ply"))
