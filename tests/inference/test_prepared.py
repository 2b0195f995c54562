from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import trimesh

from sampled_transformer.data.axes import AXES, turn
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import read_raw, read_shape
from sampled_transformer.inference.prepared import prepare_files, prepare_sets, prepare_sides
from sampled_transformer.training.loading import View

VIEW = View("bricks", 32, True)
POSITIONS = View("bricks", 32, False)


def cloud(size: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(size, 3))


@pytest.mark.parametrize("size", [20, 32, 90])
def test_a_file_is_what_read_shape_reads(size: int, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", points=cloud(size))
    expected = read_shape(tmp_path / "a.npz", points=32, normals="estimate")
    ((one,), form) = prepare_sets(VIEW, tmp_path / "a.npz")
    assert form == "one"
    np.testing.assert_array_equal(one.points, expected.points)
    np.testing.assert_array_equal(one.normals, expected.normals)
    np.testing.assert_array_equal(one.draw.places, cloud(size)[one.draw.rows])
    assert one.name == str(tmp_path / "a.npz")


def test_the_way_there_is_noted(tmp_path: Path) -> None:
    estimated = "normals estimated from neighbouring points"
    repeated = "only 20 points; repeated some to get the 32 the network reads"
    assert prepare_sets(VIEW, cloud(20))[0][0].notes == (estimated, repeated)
    assert prepare_sets(VIEW, cloud(40), cloud(40, 1))[0][0].notes == ()
    assert prepare_sets(POSITIONS, cloud(40))[0][0].notes == ()
    assert prepare_sets(VIEW, trimesh.creation.box())[0][0].notes == ()


def test_a_set_that_repeats_points_is_noted() -> None:
    (one,), _ = prepare_sets(POSITIONS, cloud(20)[np.arange(64) % 20])
    assert one.draw.shape.distinct == len(np.unique(one.points, axis=0)) <= 20
    differ = f"only {one.draw.shape.distinct} of the 32 points the network reads differ; the file repeats points"
    assert one.notes == (differ,)
    normals = cloud(64, 1)  # a point with another normal is another point, if the network reads normals
    assert prepare_sets(VIEW, cloud(20)[np.arange(64) % 20], normals)[0][0].notes == ()


@pytest.mark.parametrize("up", [None, "z", "y", "-x"])
def test_predict_and_training_draw_the_same_points_with_any_axis_up(up: str | None, tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.xyz", cloud(90))
    trimesh.creation.icosphere(1).apply_scale([1, 2, 3]).export(tmp_path / "b.off")
    for name in ("a.xyz", "b.off"):
        (one,), _ = prepare_sets(POSITIONS, tmp_path / name, up=up)
        np.testing.assert_array_equal(one.draw.shape.points, read_shape(tmp_path / name, points=32, up=up).points)


def test_networks_of_positions_ignore_normals() -> None:
    (without,), _ = prepare_sets(POSITIONS, cloud(40))
    (given,), _ = prepare_sets(POSITIONS, cloud(40), cloud(40, 1))
    assert given.normals is None
    assert torch.equal(given.points, without.points)


def test_a_transform_that_changes_the_order_is_followed() -> None:
    """The presets for fine-tuning put the points in the order of farthest point sampling."""
    (one,), _ = prepare_sets(View("finetune-modelnet40", 32, False), cloud(90))
    assert not np.array_equal(one.order, np.arange(32))
    np.testing.assert_array_equal(np.sort(one.order), np.arange(32))
    np.testing.assert_array_equal(one.points, one.draw.shape.points[one.order])


def test_forms() -> None:
    points = np.stack([cloud(40), cloud(40, 1)])
    forms: list[tuple[Any, str, int]] = [
        (points[0], "one", 1),
        (points, "array", 2),
        (list(points), "list", 2),
        (tuple(points), "list", 2),
        (torch.from_numpy(points), "array", 2),
        (torch.nested.nested_tensor(list(torch.from_numpy(points)), layout=torch.jagged), "list", 2),
    ]
    for given, form, count in forms:
        sets, found = prepare_sets(VIEW, given)
        assert (found, len(sets)) == (form, count)
        assert torch.equal(sets[0].points, prepare_sets(VIEW, points[0])[0][0].points)
    prepared, _ = prepare_sets(VIEW, points)
    assert prepare_sets(VIEW, prepared[0])[0][0] is prepared[0]
    with pytest.raises(
        DataError, match=r"points: expected a set prepared for View\(.*normals=False.*\), got one for View"
    ):
        prepare_sets(POSITIONS, prepared[0])


def test_what_is_in_memory_is_not_changed() -> None:
    points = cloud(40)
    kept = points.copy()
    prepare_sets(VIEW, points)
    np.testing.assert_array_equal(points, kept)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], "points: expected at least one set, got none"),
        (np.zeros((0, 40, 3)), "points: expected at least one set, got none"),
        (np.zeros((0, 3)), "points: expected at least 1 point, got none"),
        (np.zeros((1, 3)), "points: expected at least 2 different points, got 1 point"),
        (np.zeros((9, 2)), r"points: expected the shape \(n, 3\) or \(batch, n, 3\), or six columns.*got \(9, 2\)"),
        (np.zeros((3, 9)), r"points: expected the shape .* got \(3, 9\)"),
        (np.zeros((2, 3, 9)), r"points\[0\]: expected the shape \(n, 3\), or six columns with normals, got \(3, 9\)"),
        (np.zeros((1, 2, 3, 4)), r"got \(1, 2, 3, 4\)"),
        ([[0, 0, 1], [1, 2, 3]], r"points\[0\]: expected the shape \(n, 3\), .*got \(3,\)"),
        ([cloud(9), np.full((9, 3), np.nan)], r"points\[1\]: expected finite numbers, got NaN or infinity in 9 of 9"),
        (np.ones((9, 6)), "points: expected unit normals in the last three of six columns, got others; give pos"),
        (np.zeros((9, 3), complex), "points: expected numbers of shape .*, got complex128"),
        (np.full((9, 3), "a"), "points: expected numbers of shape .*, got <U1"),
        (None, "points: expected an array, a list of sets, a file or a trimesh, got NoneType"),
        ([[[1, 2, 3], [1, 2]]], r"points\[0\]: expected an array, .* got rows of different lengths"),
        ("nowhere.off", "nowhere.off: No such file or directory"),
        (["nowhere.off"], "nowhere.off: No such file or directory"),
    ],
)
def test_what_is_no_set_is_refused_in_one_line(points: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        prepare_sets(VIEW, points)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("points", "normals", "message"),
    [
        (cloud(9), cloud(8), r"normals: expected \(9, 3\), the shape of points, got \(8, 3\)"),
        (cloud(9), np.full((9, 3), np.inf), "normals: expected finite numbers"),
        (np.stack([cloud(9)] * 2), cloud(9), "normals: expected those of 2 sets, as many as points has, got one array"),
        ([cloud(9)] * 2, [cloud(9)], "normals: expected those of 2 sets, as many as points has, got 1"),
        ("a.off", cloud(9), "normals: expected None for a file, which has its own, got ndarray"),
        (trimesh.creation.box(), cloud(9), "normals: expected None for a trimesh, which has its own, got ndarray"),
    ],
)
def test_normals_that_do_not_fit(points: Any, normals: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        prepare_sets(VIEW, points, normals)


@pytest.mark.parametrize("up", AXES)
def test_a_set_is_turned_as_the_network_expects_it(up: str) -> None:
    points, normals = cloud(40), cloud(40, 1)
    for to in ("z", "-y"):
        view = View("bricks", 32, True, to)
        (seen,), _ = prepare_sets(view, points, normals, up=up)
        (expected,), _ = prepare_sets(view, turn(points, up, to), turn(normals, up, to))
        assert torch.equal(seen.points, expected.points)
        assert torch.equal(seen.normals, expected.normals)
        assert (seen.up, expected.up) == (up, None)
        assert np.array_equal(seen.draw.places, points[seen.draw.rows])  # in the axes of the input


def test_gltf_has_y_up_and_other_files_stay_as_they_are(tmp_path: Path) -> None:
    box = trimesh.creation.box((1, 2, 3))
    for ending in ("glb", "gltf", "off"):
        (tmp_path / ending).mkdir()
        box.export(tmp_path / ending / f"box.{ending}")
        (seen,), _ = prepare_sets(POSITIONS, tmp_path / ending / f"box.{ending}")
        (asked,), _ = prepare_sets(POSITIONS, tmp_path / ending / f"box.{ending}", up="y")
        is_gltf = ending != "off"
        assert torch.equal(seen.points, asked.points) == is_gltf
        assert seen.up == ("y" if is_gltf else None)
        assert seen.notes == (("y is up, as in every glTF file",) if is_gltf else ())
        assert asked.notes == ()


def test_six_sides_read_a_file_once_each(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", cloud(90))
    ((*sides,),), form = prepare_sides(POSITIONS, tmp_path / "a.npy", up="auto")
    assert form == "one"
    assert [side.up for side in sides] == list(AXES)
    for side in sides:
        assert torch.equal(side.points, prepare_sets(POSITIONS, tmp_path / "a.npy", up=side.up)[0][0].points)
    with pytest.raises(ValueError, match="up: expected one of z, y, x, -z, -y, -x, got 'auto'"):
        prepare_sets(POSITIONS, cloud(9), up="auto")
    with pytest.raises(DataError, match="up: expected none for a set that is prepared, got x"):
        prepare_sets(POSITIONS, sides[0], up="x")


@pytest.mark.parametrize("factor", [1000.0, 0.001])
def test_units_do_not_matter(factor: float) -> None:
    points, normals = cloud(90), cloud(90, 1)
    box = trimesh.creation.box((1, 2, 3))
    scaled = box.copy().apply_scale(factor)
    for small, large in (
        ((points, normals), (points * factor, normals)),
        ((points,), (points * factor,)),
        ((box,), (scaled,)),
    ):
        (one,), _ = prepare_sets(VIEW, *small)
        (other,), _ = prepare_sets(VIEW, *large)
        assert torch.allclose(one.points, other.points, atol=1e-6)
        assert torch.allclose(one.normals, other.normals, atol=1e-5)


def test_columns_that_are_not_used_are_noted(tmp_path: Path) -> None:
    np.savetxt(tmp_path / "a.txt", np.hstack([cloud(40), np.full((40, 2), 9)]))
    for up in (None, "y"):
        (one,), _ = prepare_sets(POSITIONS, tmp_path / "a.txt", up=up)
        assert one.notes == ("columns 4 to 5 not used",)


def test_what_a_reader_gives_is_prepared_as_its_file(tmp_path: Path) -> None:
    path = tmp_path / "cloud.npy"
    np.save(path, np.random.default_rng(0).normal(size=(70, 3)))
    view = View("bricks", 32, True, "z")
    [of_file], _ = prepare_sets(view, path, up="y")
    [of_raw], form = prepare_sets(view, read_raw(path), up="y")
    assert form == "one"
    assert torch.equal(of_file.points, of_raw.points)
    with pytest.raises(DataError, match="normals: expected None for a mesh or cloud that was read"):
        prepare_sets(view, read_raw(path), np.zeros((70, 3)))


@pytest.mark.parametrize("up", [None, "y", "auto"])
def test_many_files_are_what_each_is_alone(up: str | None, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", points=cloud(90))
    (tmp_path / "b.off").write_text("OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n")
    (tmp_path / "c.off").write_text("nonsense")
    trimesh.creation.cone(1, 2).export(tmp_path / "d.glb")
    paths = [tmp_path / name for name in ("a.npz", "b.off", "c.off", "missing.ply", "d.glb")]
    found = list(prepare_files(VIEW, paths, up))
    assert [isinstance(own, DataError) for own in found] == [False, False, True, True, False]
    for path, own in zip(paths, found, strict=True):
        if isinstance(own, DataError):
            with pytest.raises(DataError) as error:
                prepare_sides(VIEW, path, up=up)
            assert str(own) == str(error.value)
            continue
        (expected,), _ = prepare_sides(VIEW, path, up=up)
        assert [one.notes for one in own] == [one.notes for one in expected]
        for one, other in zip(own, expected, strict=True):
            assert (one.name, one.up) == (other.name, other.up)
            assert torch.equal(one.points, other.points)
            assert torch.equal(one.normals, other.normals)  # type: ignore[arg-type]
            np.testing.assert_array_equal(one.order, other.order)


def test_many_files_refuse_an_axis_that_is_none() -> None:
    with pytest.raises(ValueError, match="up: expected one of"):
        list(prepare_files(VIEW, [], "w"))
