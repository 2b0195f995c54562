"""Meshes: triangulating polygons, sampling by area, and the OFF format with its ModelNet40 variants."""

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.formats.meshes import Mesh, fan, read_off, sample_surface
from sampled_transformer.data.formats.point_files import Cloud

SQUARE = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n"


def test_fan_of_mixed_polygons():
    triangles = fan(np.array([0, 1, 2, 3, 4, 5, 6, 9, 9, 7, 8, 9, 10, 11]), np.array([3, 4, 2, 5]))
    assert triangles.tolist() == [[0, 1, 2], [3, 4, 5], [3, 5, 6], [7, 8, 9], [7, 9, 10], [7, 10, 11]]
    assert fan(np.array([], int), np.array([], int)).shape == (0, 3)


def two_triangles(share: float) -> Mesh:
    """A triangle in the plane z = 0 and one in x = 9 with `share` of the whole area, and one without any."""
    small = np.sqrt(share / (1 - share))
    vertices = np.array(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [9, 0, 0], [9, small, 0], [9, 0, small], [5, 5, 5], [6, 6, 6], [7, 7, 7]],
        float,
    )
    return Mesh(vertices, np.array([[6, 7, 8], [0, 1, 2], [3, 4, 5], [6, 6, 6]]))


def test_sampling_is_by_area_and_uniform_inside():
    points, normals = sample_surface(two_triangles(0.2), 40_000, np.random.default_rng(0))
    small = points[:, 0] > 8
    assert small.mean() == pytest.approx(0.2, abs=5 * np.sqrt(0.2 * 0.8 / 40_000))
    np.testing.assert_allclose(normals[small], [[1, 0, 0]] * small.sum(), atol=1e-12)
    np.testing.assert_allclose(normals[~small], [[0, 0, 1]] * (~small).sum(), atol=1e-12)
    flat = points[~small]
    assert (flat >= 0).all()
    assert (flat[:, :2].sum(1) <= 1 + 1e-12).all()
    np.testing.assert_allclose(flat[:, :2].mean(0), 1 / 3, atol=5 * np.sqrt(1 / 18 / len(flat)))


@pytest.mark.parametrize("scale", [1e-140, 1e-9, 1e140])
def test_sampling_at_any_scale(scale):
    mesh = two_triangles(0.5)
    points, normals = sample_surface(Mesh(mesh.vertices * scale, mesh.faces), 500, np.random.default_rng(0))
    expected, expected_normals = sample_surface(mesh, 500, np.random.default_rng(0))
    np.testing.assert_allclose(points, expected * scale, rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(normals, expected_normals, atol=1e-9)


@pytest.mark.parametrize(
    "vertices",
    [
        np.zeros((3, 3)),
        np.array([[0, 0, 0], [0.1, 0.2, 0.3], [0.3, 0.6, 0.9]]),
        np.array([[5, 5, 5], [6, 6, 6], [5, 5, 5]]),
    ],
    ids=["one point", "one line up to rounding", "two points"],
)
def test_no_area(vertices):
    with pytest.raises(DataError, match="no surface: the 1 faces have no area"):
        sample_surface(Mesh(vertices.astype(float), np.array([[0, 1, 2]])), 10, np.random.default_rng(0))


@pytest.mark.parametrize(
    "text",
    [
        f"OFF\n4 2 0\n{SQUARE}3 0 1 2\n3 0 2 3\n",
        f"OFF4 2 0\n{SQUARE}3 0 1 2\n3 0 2 3\n",
        f"OFF 4 2 0\r\n{SQUARE}3 0 1 2\r\n3 0 2 3",
        f"# made by hand\nOFF # the square\n\n4 2 0\n{SQUARE}\n3 0 1 2  # first\n3 0 2 3\n",
        f"OFF\n4 2 0\n{SQUARE}3 0 1 2 255 0 0\n3 0 2 3 0 255 0\n",
        f"OFF\n4 2\n{SQUARE}3 0 1 2 0.5\n3 0 2 3\n",
        f"OFF\n4 1 0\n{SQUARE}4 0 1 2 3\n",
        "COFF\n4 1 0\n" + SQUARE.replace("\n", " 255 0 0 255\n") + "4 0 1 2 3\n",
        f"OFF\n4 3 0\n{SQUARE}3 0 1 2\n3 0 2 3\n2 0 1\n",
    ],
)
def test_off_forms(tmp_path, text):
    path = tmp_path / "square.off"
    path.write_bytes(text.encode())
    mesh = read_off(path)
    assert isinstance(mesh, Mesh)
    assert mesh.vertices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_off_without_faces_is_a_cloud(tmp_path):
    (tmp_path / "a.off").write_text(f"OFF\n4 0 0\n{SQUARE}")
    cloud = read_off(tmp_path / "a.off")
    assert isinstance(cloud, Cloud)
    assert cloud.points.shape == (4, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "begins with the word OFF"),
        ("PLY\n", "begins with the word OFF"),
        ("OFF BINARY\n4 0 0\n", "begins with the word OFF"),
        ("OFF\n", "expected the numbers of vertices and faces"),
        ("OFF\nfour 2 0\n", "expected the numbers of vertices and faces"),
        (
            f"OFF\n1000000000000 2 0\n{SQUARE}",
            "header claims 1000000000000 vertices and 2 faces, but only 4 lines follow",
        ),
        (f"OFF\n4 2 0\n{SQUARE}3 0 1 2\n", "header claims 4 vertices and 2 faces, but only 5 lines follow"),
        (f"OFF\n-4 2 0\n{SQUARE}", "header claims -4 vertices"),
        ("OFF\n2 0 0\n0 0 0\n1 1\n", "vertex 2: expected 3 numbers, got 2"),
        (f"OFF\n4 1 0\n{SQUARE}4 0 1 2\n", "fewer corners than it claims"),
    ],
)
def test_bad_off(tmp_path, text, message):
    (tmp_path / "a.off").write_text(text)
    with pytest.raises(DataError, match=message):
        read_off(tmp_path / "a.off")
