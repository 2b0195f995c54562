"""read_shape: any format gives the same points every time, or a one-line error."""

import os
import subprocess
import sys
from pathlib import Path

import laspy
import numpy as np
import pytest
import trimesh
from pypcd4 import PointCloud

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import LARGEST_FILE, READERS, check_raw, draw_shape, read_raw, read_shape
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.data.formats.point_files import Cloud

MESHES = ("off", "ply", "obj", "stl", "glb", "gltf")
CLOUDS = ("xyz", "txt", "csv", "pts", "npy", "npz", "pcd", "las", "laz")


def write(path, points: np.ndarray) -> None:
    """Write a cloud in the format of the file ending."""
    ending = path.suffix[1:]
    if ending in ("xyz", "txt", "csv", "pts"):
        np.savetxt(path, points, delimiter="," if ending == "csv" else " ")
    elif ending == "npy":
        np.save(path, points)
    elif ending == "npz":
        np.savez(path, points=points)
    elif ending == "pcd":
        PointCloud.from_xyz_points(points.astype(np.float32)).save(path)
    else:
        las = laspy.create(point_format=0)
        las.header.scales = [1e-5] * 3
        las.x, las.y, las.z = points.T
        las.write(path)


def write_mesh(path, mesh: trimesh.Trimesh) -> None:
    if path.suffix == ".gltf":
        for name, data in trimesh.exchange.gltf.export_gltf(trimesh.Scene(mesh)).items():
            (path if name == "model.gltf" else path.parent / name).write_bytes(data)
    else:
        mesh.export(path)


def test_every_format_is_tested():
    assert {f".{ending}" for ending in MESHES + CLOUDS} == READERS.keys()


@pytest.mark.parametrize("ending", MESHES)
def test_mesh(tmp_path, ending):
    write_mesh(tmp_path / f"a.{ending}", trimesh.creation.box((2, 2, 2)))
    shape = read_shape(tmp_path / f"a.{ending}", points=500, normalise=False)
    assert shape.from_mesh
    assert shape.points.shape == shape.normals.shape == (500, 3)
    assert shape.points.dtype == shape.normals.dtype == np.float32
    np.testing.assert_allclose(np.abs(shape.points).max(1), 1, atol=1e-5)
    np.testing.assert_allclose((shape.points * shape.normals).sum(1), 1, atol=1e-5)  # outwards


@pytest.mark.parametrize("ending", CLOUDS)
@pytest.mark.parametrize("count", [50, 300])
def test_cloud(tmp_path, ending, count):
    points = np.random.default_rng(0).uniform(-1, 1, (count, 3))
    write(tmp_path / f"a.{ending}", points)
    shape = read_shape(tmp_path / f"a.{ending}", points=100, normalise=False)
    assert not shape.from_mesh
    assert shape.points.shape == (100, 3)
    assert shape.normals is None
    distance = np.abs(shape.points[:, None] - points).max(-1)
    assert distance.min(1).max() < 1e-4
    drawn = np.bincount(distance.argmin(1), minlength=count)
    assert drawn.max() == 1 if count > 100 else drawn.min() == 1


def test_ending_in_capitals(tmp_path):
    trimesh.creation.box().export(tmp_path / "a.stl")
    (tmp_path / "a.stl").rename(tmp_path / "A.STL")
    assert read_shape(tmp_path / "A.STL", points=5).points.shape == (5, 3)


@pytest.mark.parametrize(
    ("normals", "mesh", "with_normals", "without"),
    [
        ("keep", True, True, False),
        ("estimate", True, True, True),
        ("none", False, False, False),
    ],
)
def test_normals(tmp_path, normals, mesh, with_normals, without):
    sphere = trimesh.creation.icosphere(3)
    sphere.export(tmp_path / "mesh.ply")
    np.save(tmp_path / "with.npy", np.hstack([sphere.vertices, sphere.vertices]))
    np.save(tmp_path / "without.npy", sphere.vertices)
    for name, expected in (("mesh.ply", mesh), ("with.npy", with_normals), ("without.npy", without)):
        shape = read_shape(tmp_path / name, points=200, normals=normals, normalise=False)
        assert (shape.normals is not None) == expected
        if expected:
            assert (shape.normals * shape.points).sum(1).min() > 0.9


def test_normalised_shape_fills_the_unit_sphere(tmp_path):
    points = np.random.default_rng(0).normal((500_000, 4_000_000, 0), size=(500, 3))
    write(tmp_path / "a.npy", points)
    shape = read_shape(tmp_path / "a.npy", points=500)
    np.testing.assert_allclose(shape.points.mean(0), 0, atol=1e-6)
    assert np.linalg.norm(shape.points, axis=1).max() == pytest.approx(1, abs=1e-6)
    centred = points - points.mean(0)
    expected = np.sort((centred / np.linalg.norm(centred, axis=1).max())[:, 0])
    np.testing.assert_allclose(np.sort(shape.points[:, 0]), expected, atol=1e-6)


def test_draw_depends_on_the_content_and_the_seed_alone(tmp_path):
    for name, size in (("a.off", 1.0), ("b.off", 1.0), ("other.off", 1.5)):
        trimesh.creation.box((1, 1, size)).export(tmp_path / name)
    first = read_shape(tmp_path / "a.off", points=50, normalise=False).points
    np.testing.assert_array_equal(first, read_shape(tmp_path / "b.off", points=50, normalise=False).points)
    for other in (
        read_shape(tmp_path / "other.off", points=50, normalise=False),
        read_shape(tmp_path / "a.off", points=50, normalise=False, seed=1),
        read_shape(tmp_path / "a.off", points=50, normalise=False, name="a.off"),
    ):
        assert not np.array_equal(first, other.points)


def test_a_name_draws_by_itself_and_the_seed(tmp_path):
    for name in ("a.off", "b.off"):
        trimesh.creation.icosphere(1).export(tmp_path / name)
    first = read_shape(tmp_path / "a.off", points=50, name="x").points
    np.testing.assert_array_equal(first, read_shape(tmp_path / "b.off", points=50, name="x").points)
    assert not np.array_equal(first, read_shape(tmp_path / "a.off", points=50, name="y").points)
    assert not np.array_equal(first, read_shape(tmp_path / "a.off", points=50, name="x", seed=1).points)


@pytest.mark.parametrize("normals", ["keep", "estimate", "none"])
@pytest.mark.parametrize("count", [40, 100, 250])
def test_a_cloud_is_the_same_shape_in_any_order(tmp_path, normals, count):
    points = np.random.default_rng(0).normal(size=(100, 3))
    order = np.random.default_rng(1).permutation(100)
    write(tmp_path / "a.npy", points)
    write(tmp_path / "b.npy", points[order])
    one, two = (read_shape(tmp_path / name, points=count, normals=normals) for name in ("a.npy", "b.npy"))
    np.testing.assert_array_equal(one.points, two.points)
    assert len(np.unique(one.points, axis=0)) == one.distinct == min(count, 100)
    if normals == "estimate":
        np.testing.assert_array_equal(one.normals, two.normals)


@pytest.mark.parametrize("normals", ["keep", "estimate", "none"])
def test_of_few_points_random_ones_are_read_again(tmp_path, normals):
    points = np.random.default_rng(0).normal(size=(64, 3)).astype(np.float32)
    counts = []
    for name, unit in (("metres.npy", 1), ("millimetres.npy", 1000)):  # with other roundings
        write(tmp_path / name, points * np.float32(unit))
        shape = read_shape(tmp_path / name, points=1024, normals=normals, normalise=False)
        found, copies = np.unique(shape.points, axis=0, return_counts=True)
        assert (len(found), shape.distinct) == (64, 64)
        assert len(set(copies.tolist())) > 5  # whole copies would be 16 of each
        counts.append(copies)
    assert (np.abs(counts[0] - counts[1]) > 1).sum() < 32  # most hashes are the same in both units


@pytest.mark.parametrize("name", [None, "x"])
@pytest.mark.parametrize("count", [100, 300, 500])
def test_a_file_that_repeats_points_has_fewer(tmp_path, name, count):
    points = np.random.default_rng(0).normal(size=(50, 3))
    write(tmp_path / "a.npy", points[np.arange(300) % 50])
    shape = read_shape(tmp_path / "a.npy", points=count, name=name)
    assert len(np.unique(shape.points[: shape.distinct], axis=0)) == shape.distinct
    assert shape.distinct == len(np.unique(shape.points, axis=0)) <= 50


BAD = {
    "empty.off": (b"", "empty file"),
    "empty.npz": (b"", "empty file"),
    "lie.off": (b"OFF\n1000000000000 1 0\n0 0 0\n", "header claims 1000000000000 vertices"),
    "nan.off": (
        b"OFF\n3 1 0\n0 0 0\n1 0 0\nnan 1 0\n3 0 1 2\n",
        r"vertices: expected finite numbers, got NaN or infinity in 1 of 3 rows \(first: row 2\)",
    ),
    "inf.xyz": (b"0 0 0\n1 inf 0\n", "points: expected finite numbers, got NaN or infinity in 1 of 2"),
    "huge.xyz": (b"0 0 0\n1 1e400 0\n", "points: expected finite numbers, got NaN or infinity in 1 of 2"),
    "large.xyz": (b"0 0 0\n1 1e300 0\n", r"points: expected numbers below 1e150, got larger ones in 1 of 2 rows"),
    "flat.off": (b"OFF\n3 1 0\n0 0 0\n1 1 1\n2 2 2\n3 0 1 2\n", "no surface"),
    "index.off": (b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 3\n", "faces: expected indices from 0 to 2, got 0 to 3"),
    "negative.off": (
        b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 -1\n",
        "faces: expected indices from 0 to 2, got -1 to 1",
    ),
    "words.off": (b"OFF\n3 1 0\n0 0 0\n1 0 0\n0 one 0\n3 0 1 2\n", "damaged OFF file"),
    "one.xyz": (b"1 2 3\n", "points: expected at least 2 different points, got 1 point"),
    "same.xyz": (b"1 2 3\n1 2 3\n", "points: expected at least 2 different points, got 2 equal points"),
    "ragged.csv": (b"1,2,3\n4,5\n6,7,8\n", "line 2: expected 3 columns, got 2"),
    "strange.step": (b"ISO-10303", r"unknown format '.step'; known formats: .off"),
    "las.las": (b"LASF" + bytes(400), "las.las: "),
    "cut.laz": (b"LASF\0\0", "cut.laz: "),
    "text.npy": (b"hello", "damaged file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path, name):
    (tmp_path / name).write_bytes(BAD[name][0])
    with pytest.raises(DataError, match=BAD[name][1]) as error:
        read_shape(tmp_path / name)
    message = str(error.value)
    assert message.startswith(str(tmp_path / name) + ": ")
    assert message.count(str(tmp_path)) == 1
    assert "\n" not in message


@pytest.mark.parametrize("ending", [*MESHES, *CLOUDS])
def test_any_file_cut_anywhere_is_read_or_refused_in_one_line(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    if ending in MESHES:
        write_mesh(path, trimesh.creation.icosphere(1))
    else:
        write(path, np.random.default_rng(0).uniform(-1, 1, (20, 3)))
    data = path.read_bytes()
    for cut in np.linspace(0, len(data) - 1, 23).astype(int):
        path.write_bytes(data[:cut])
        try:
            shape = read_shape(path, points=10)
        except DataError as error:
            assert str(error).startswith(str(path) + ": ")  # noqa: PT017
        else:  # text may end anywhere and still be a smaller cloud
            assert np.isfinite(shape.points).all()


@pytest.mark.parametrize("ending", [*MESHES, *CLOUDS])
def test_any_file_with_damaged_bytes_is_read_or_refused_in_one_line(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    if ending in MESHES:
        write_mesh(path, trimesh.creation.icosphere(1))
    else:
        write(path, np.random.default_rng(0).uniform(-1, 1, (20, 3)))
    data = path.read_bytes()
    generator = np.random.default_rng(0)
    for _ in range(25):
        broken = bytearray(data)
        for place in generator.integers(0, min(len(data), 600), 4):
            broken[place] = generator.integers(0, 256)
        path.write_bytes(broken)
        try:
            shape = read_shape(path, points=10)
        except DataError as error:
            assert str(error).startswith(str(path) + ": ")  # noqa: PT017
        else:
            assert np.isfinite(shape.points).all()


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match=r"a\.off: No such file"):
        read_shape(tmp_path / "a.off")
    (tmp_path / "b.off").mkdir()
    with pytest.raises(DataError, match=r"b\.off: not a regular file"):
        read_shape(tmp_path / "b.off")


def test_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "a.off")
    with pytest.raises(DataError, match=r"a\.off: not a regular file"):
        read_shape(tmp_path / "a.off")


def test_file_that_is_too_large(tmp_path):
    with open(tmp_path / "a.xyz", "wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(DataError, match=r"a\.xyz: file too large: expected at most 2147483648 bytes, got 2147483649"):
        read_shape(tmp_path / "a.xyz")


def test_name_that_is_not_utf8(tmp_path):
    path = os.path.join(os.fsencode(tmp_path), b"\xff\n.xyz")
    with open(path, "wb") as file:
        file.write(b"1 2 3\n")
    with pytest.raises(DataError, match=r"\\xff\\n\.xyz: points: expected at least 2 different points, got 1 point"):
        read_shape(os.fsdecode(path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"points": 0}, "points: expected 1 to 10000000"), ({"normals": "some"}, "normals: expected")],
)
def test_bad_arguments(tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        read_shape(tmp_path / "a.off", **arguments)


def test_reading_a_mesh_needs_neither_torch_nor_trimesh(tmp_path):
    (tmp_path / "a.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    program = """
import sys
from sampled_transformer.data.files import read_shape
read_shape(sys.argv[1])
assert not {"torch", "trimesh", "scipy"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "a.off")], check=True)


@pytest.mark.parametrize("size", [30, 50, 80])
def test_what_is_in_memory_is_drawn_as_from_a_file(size: int, tmp_path: Path) -> None:
    points = np.random.default_rng(0).normal(size=(size, 3)) + 1e6
    np.save(tmp_path / "a.npy", points)
    draw = draw_shape(check_raw(Cloud(points)), points=50, normals="estimate")
    expected = read_shape(tmp_path / "a.npy", points=50, normals="estimate")
    for own, other in zip(draw.shape, expected, strict=True):
        np.testing.assert_array_equal(own, other)
    np.testing.assert_array_equal(draw.places, points[draw.rows])
    assert len(np.unique(draw.rows)) == draw.shape.distinct == min(size, 50)


def test_points_on_a_mesh_have_places_but_no_rows() -> None:
    corners = np.array([[0.0, 0, 5], [8, 0, 5], [0, 8, 5]])
    draw = draw_shape(check_raw(Mesh(corners, np.array([[0, 1, 2]]))), points=40)
    assert draw.rows is None
    np.testing.assert_allclose(draw.places[:, 2], 5)
    assert np.abs(draw.shape.points).max() <= 1


def test_what_a_file_holds_comes_as_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(12.0).reshape(4, 3))
    raw = read_raw(tmp_path / "a.npy")
    assert isinstance(raw, Cloud)
    np.testing.assert_array_equal(raw.points, np.arange(12.0).reshape(4, 3))
    with pytest.raises(DataError, match=r"b\.npy: No such file"):
        read_raw(tmp_path / "b.npy")


@pytest.mark.parametrize(
    ("width", "message"),
    [(4, r"\.txt file: column 4 not used; "), (7, r"\.txt file: columns 4 to 7 not used; ")],
)
def test_columns_without_names_are_not_dropped_silently(tmp_path: Path, width: int, message: str) -> None:
    np.savetxt(tmp_path / "a.txt", np.random.default_rng(0).uniform(2, 9, (20, width)))
    with pytest.warns(UserWarning, match=message):
        shape = read_shape(tmp_path / "a.txt", points=10)
    assert message.endswith(f"{shape.unused} not used; ")


@pytest.mark.parametrize("header", ["x y z intensity\n", "x y intensity z\n"])
def test_columns_with_names_are_not_mentioned(tmp_path: Path, header: str, recwarn: pytest.WarningsRecorder) -> None:
    (tmp_path / "a.txt").write_text(header + "1 2 3 4\n5 6 7 8\n")
    (tmp_path / "b.txt").write_text("1 2 3\n5 6 7\n")
    assert [read_shape(tmp_path / name, points=10).unused for name in ("a.txt", "b.txt")] == ["", ""]
    assert not recwarn.list


def test_a_warning_about_columns_comes_once_for_many_files(tmp_path: Path) -> None:
    for number in range(5):
        np.savetxt(tmp_path / f"{number}.xyz", np.random.default_rng(number).uniform(2, 9, (20, 4)))
    program = """
import sys
from sampled_transformer.data.files import read_shape
for number in range(5):
    read_shape(f"{sys.argv[1]}/{number}.xyz")
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr.count("column 4 not used") == 1
