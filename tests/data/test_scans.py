"""read_scan: everything per point in every format, whole or in pieces, or a one-line error."""

import struct
from pathlib import Path

import laspy
import numpy as np
import pytest
import trimesh
from helpers.scans import COLOUR, COUNT, ENDINGS, INTENSITY, LABELS, LAS, NORMALS, POINTS, write_example

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.scans import iter_scan_chunks, read_scan, scan_bounds, streamed_count


@pytest.mark.parametrize("kind", ENDINGS)
def test_every_format(tmp_path: Path, kind: str) -> None:
    scan = read_scan(write_example(tmp_path, kind))
    if "pcd" in kind:
        np.testing.assert_array_equal(scan.points, (POINTS - POINTS.mean(0)).astype(np.float32))
    elif kind.startswith("la"):
        np.testing.assert_allclose(scan.points, POINTS, rtol=0, atol=1e-6)
    else:
        np.testing.assert_array_equal(scan.points, POINTS)  # map coordinates to the last bit
    assert scan.points.dtype == np.float64
    unnamed = kind in ("txt-unnamed", "npy-table")
    np.testing.assert_array_equal(scan.features["column_4" if unnamed else "intensity"], INTENSITY)
    if unnamed:
        assert scan.labels is None
        return
    assert scan.labels is not None
    assert scan.labels.dtype == np.int64
    np.testing.assert_array_equal(scan.labels, LABELS)
    names = {"las": "classification", "laz": "classification", "npz": "labels"}
    assert scan.label_name == names.get(kind[:3], "label")
    if "npy" not in kind and kind[-1] not in "06":
        np.testing.assert_allclose(scan.features["colour"], COLOUR / 255, atol=1e-6)
    if kind[:3] in ("ply", "pcd", "npz"):
        np.testing.assert_allclose(scan.normals, NORMALS, atol=1e-6)


@pytest.mark.parametrize("kind", LAS)
def test_dimensions_of_las(tmp_path: Path, kind: str) -> None:
    path = write_example(tmp_path, kind)
    las = laspy.read(path)
    las.write(path)
    scan = read_scan(path)
    for name in ("return_number", "number_of_returns", "synthetic", "withheld", "amplitude", "user_data"):
        np.testing.assert_array_equal(scan.features[name], np.asarray(las[name]))
    assert "scan_angle" in scan.features
    assert "scan_angle_rank" not in scan.features
    assert scan.missing() == {}


def test_scan_angles_are_degrees_in_all_formats(tmp_path: Path) -> None:
    for kind, name, value in (("las-3", "scan_angle_rank", -15), ("las-6", "scan_angle", -2500)):
        path = write_example(tmp_path, kind)
        las = laspy.read(path)
        las[name] = np.full(COUNT, value)
        las.write(path)
        np.testing.assert_allclose(read_scan(path).features["scan_angle"], -15, rtol=1e-6)


@pytest.mark.parametrize("size", [1, 7, COUNT, 1000])
@pytest.mark.parametrize("kind", ["las-7", "laz-3", "ply-big", "txt-unnamed"])
def test_pieces_are_the_whole(tmp_path: Path, kind: str, size: int) -> None:
    path = write_example(tmp_path, kind)
    whole, pieces = read_scan(path), list(iter_scan_chunks(path, size))
    assert [len(piece) for piece in pieces[:-1]] == [size] * (len(pieces) - 1)
    np.testing.assert_array_equal(np.concatenate([piece.points for piece in pieces]), whole.points)
    for name, values in whole.features.items():
        np.testing.assert_array_equal(np.concatenate([piece.features[name] for piece in pieces]), values)


def test_which_files_are_read_in_pieces(tmp_path: Path) -> None:
    for kind, count in (("las-3", COUNT), ("laz-6", COUNT), ("ply-big", COUNT), ("ply-ascii", None), ("npz", None)):
        assert streamed_count(write_example(tmp_path, kind)) == count
    for name, kind in (("red", "float"), ("label", "float"), ("scalar_class", "double")):
        head = ["ply", "format binary_little_endian 1.0", "element vertex 1"]
        head += [*(f"property float {axis}" for axis in "xyz"), f"property {kind} {name}", "end_header", ""]
        (tmp_path / "a.ply").write_bytes("\n".join(head).encode() + bytes(20))
        assert streamed_count(tmp_path / "a.ply") is None  # all points decide what these mean


@pytest.mark.parametrize("brightest", [255, 256])
def test_colours_have_one_scale_in_all_pieces(tmp_path: Path, brightest: int) -> None:
    path = write_example(tmp_path, "las-7")
    las = laspy.read(path)
    las.red, las.green, las.blue = np.zeros((3, COUNT))
    las.red[-1] = brightest
    las.green[0] = 128
    las.write(path)
    divisor = 255 if brightest == 255 else 65535
    for pieces in ([read_scan(path)], list(iter_scan_chunks(path, 5))):
        assert pieces[0].features["colour"][0, 1] == pytest.approx(128 / divisor)
        assert pieces[-1].features["colour"][-1, 0] == pytest.approx(brightest / divisor)


@pytest.mark.parametrize("kind", ["las-3", "laz-6", "ply-ascii", "npz"])
@pytest.mark.parametrize("exact", [False, True])
def test_bounds(tmp_path: Path, kind: str, exact: bool) -> None:
    bounds = scan_bounds(write_example(tmp_path, kind), exact=exact)
    assert bounds.count == COUNT
    np.testing.assert_allclose(bounds.lower, POINTS.min(0), atol=1e-6, rtol=0)
    np.testing.assert_allclose(bounds.upper, POINTS.max(0), atol=1e-6, rtol=0)


def test_bounds_that_the_header_does_not_know(tmp_path: Path) -> None:
    path = write_example(tmp_path, "las-3")
    data = bytearray(path.read_bytes())
    struct.pack_into("<dd", data, 179, -1e9, 1e9)  # largest and smallest x
    path.write_bytes(data)
    np.testing.assert_allclose(scan_bounds(path).upper, POINTS.max(0), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("columns", "features", "label"),
    [
        (["x", "y", "z", "a", "b", "label"], ["a", "b"], 6),
        (["z", "x", "y", "_", "-", "class"], [], 6),
        (["X", "Y", "Z", "r", "g", "b"], ["colour"], None),
    ],
)
@pytest.mark.parametrize("ending", ["txt", "npy"])
def test_columns(tmp_path: Path, columns: list[str], features: list[str], label: int | None, ending: str) -> None:
    table = np.array([[1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60]])
    path = tmp_path / f"a.{ending}"
    np.savetxt(path, table, header="u v w a b c", comments="") if ending == "txt" else np.save(path, table)
    scan = read_scan(path, columns)
    assert list(scan.features) == features
    place = [name.lower() for name in columns].index("x")
    assert scan.points[:, 0].tolist() == table[:, place].tolist()
    assert (None if scan.labels is None else scan.labels[0]) == label


def test_unnamed_columns_have_numbers_and_unit_vectors_are_normals(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.txt", np.column_stack([POINTS, NORMALS, INTENSITY]))
    scan = read_scan(tmp_path / "a.txt")
    assert list(scan.features) == ["column_7"]
    np.testing.assert_allclose(scan.normals, NORMALS)
    np.savetxt(tmp_path / "b.txt", np.column_stack([POINTS, COLOUR, LABELS]))
    assert list(read_scan(tmp_path / "b.txt").features) == ["column_4", "column_5", "column_6", "column_7"]


def test_clouds_in_formats_of_meshes(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 0 0 1\nv 4 5 6\nvn 0 0 1\nvn 1 0 0\n")
    (tmp_path / "a.off").write_text("OFF\n2 0 0\n0 0 1\n4 5 6\n")
    for name in ("a.obj", "a.off"):
        assert read_scan(tmp_path / name).points.tolist() == [[0, 0, 1], [4, 5, 6]]
    assert read_scan(tmp_path / "a.obj").normals is not None


@pytest.mark.parametrize("ending", ["off", "obj", "stl", "ply", "glb"])
def test_a_mesh_is_no_scan(tmp_path: Path, ending: str) -> None:
    trimesh.creation.box().export(tmp_path / f"a.{ending}")
    with pytest.raises(DataError, match=r"a\.\w+: a mesh has no points to label; expected a cloud, so draw points"):
        read_scan(tmp_path / f"a.{ending}")


BAD = {
    "empty.las": (b"", "empty file"),
    "empty.bin": (b"", "empty file"),
    "short.bin": (bytes(17), "expected 16 bytes per point"),
    "nan.txt": (b"1 2 3 4\n5 nan 6 7\n", "points: expected finite numbers, got NaN or infinity in 1 of 2 rows"),
    "inf.bin": (struct.pack("<4f", 1, np.inf, 2, 3), "points: expected finite numbers"),
    "none.ply": (
        b"ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\nend_header\n",
        "points: expected at least 1 point, got none",
    ),
    "twice.csv": (b"x,y,z,a,A\n1,2,3,4,5\n", "columns: expected different names, got 'A' twice"),
    "narrow.csv": (b"x,y\n1,2\n", r"expected a table of shape \(n, 3\) or wider"),
    "strange.step": (b"ISO", "unknown format '.step'; known formats: .las .laz .ply"),
    "las.las": (b"LASF" + bytes(400), "las.las: "),
    "text.npy": (b"hello", "damaged file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(BAD[name][0])
    with pytest.raises(DataError, match=BAD[name][1]) as error:
        read_scan(tmp_path / name)
    message = str(error.value)
    assert message.startswith(str(tmp_path / name) + ": ")
    assert message.count(str(tmp_path)) == 1


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("a.ply", ["x", "y", "z"], r"columns: expected none for \.ply files, whose fields have names, got x, y, z"),
        ("a.txt", ["x", "y", "height"], "columns: expected x, y and z among them, got x, y, height"),
        ("a.txt", [], "columns: expected x, y and z among them, got none"),
        ("a.txt", ["x", "y", "z"], "columns: expected 4 names, one per column, got 3"),
        ("a.txt", ["x", "y", "z", "X"], "columns: expected different names, got 'X' twice"),
    ],
)
def test_bad_columns(tmp_path: Path, name: str, columns: list[str], message: str) -> None:
    (tmp_path / "a.txt").write_text("1 2 3 4\n")
    with pytest.raises(ValueError, match=message):
        read_scan(tmp_path / name, columns)


def test_missing_files_and_sizes(tmp_path: Path) -> None:
    for read in (read_scan, scan_bounds, lambda path: list(iter_scan_chunks(path))):
        for name in ("a.las", "a.ply"):
            with pytest.raises(DataError, match=f"{name}: No such file"):
                read(tmp_path / name)
    with pytest.raises(ValueError, match=r"columns: expected none for \.las files"):
        list(iter_scan_chunks(tmp_path / "a.las", columns=["x", "y", "z"]))
    with pytest.raises(ValueError, match="size: expected at least 1, got 0"):
        list(iter_scan_chunks(tmp_path / "a.las", 0))


@pytest.mark.parametrize("kind", ENDINGS)
def test_any_file_cut_or_damaged_is_read_or_refused_in_one_line(tmp_path: Path, kind: str) -> None:
    path = write_example(tmp_path, kind)
    data = path.read_bytes()
    random = np.random.default_rng(0)
    broken = [data[:cut] for cut in np.linspace(1, len(data) - 1, 11).astype(int)]
    for _ in range(15):
        other = bytearray(data)
        for place in random.integers(0, min(len(data), 900), 4):
            other[place] = random.integers(0, 256)
        broken.append(bytes(other))
    for content in broken:
        path.write_bytes(content)
        try:
            scan = read_scan(path)
        except DataError as error:
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
        else:
            assert np.isfinite(scan.points).all()
            assert all(len(values) == len(scan) for values in scan.features.values())
