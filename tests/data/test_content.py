"""What is drawn follows from what a file holds, not from the order of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from sampled_transformer.data import content
from sampled_transformer.data.content import (
    canonical_mesh,
    distinct_first,
    drawn_rows,
    drawn_rows_on_disk,
    filled,
    row_keys,
)
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.support import workspace
from sampled_transformer.support.workspace import Workspace


def cloud(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, 3))


@pytest.mark.parametrize("count", [1, 7, 100, 150])
@pytest.mark.parametrize("copies", [0, 30])
def test_the_same_points_are_drawn_in_any_order(count: int, copies: int) -> None:
    points = cloud(100)
    points[100 - copies :] = points[:copies]
    order = np.random.default_rng(1).permutation(100)
    rows, shuffled = drawn_rows(points, count), drawn_rows(points[order], count)
    assert len(rows) == len(set(rows.tolist())) == min(count, 100)
    np.testing.assert_array_equal(points[order][shuffled], points[rows])


def test_normals_tell_copies_of_a_point_apart() -> None:
    points, normals = np.repeat(cloud(20), 2, 0), cloud(40, 1)
    order = np.random.default_rng(1).permutation(40)
    rows, shuffled = drawn_rows(points, 15, normals), drawn_rows(points[order], 15, normals[order])
    np.testing.assert_array_equal(normals[order][shuffled], normals[rows])
    np.testing.assert_array_equal(points[rows], points[drawn_rows(points, 15)])


def test_copies_are_drawn_as_often_as_other_points() -> None:
    points = np.concatenate([cloud(500), np.repeat(cloud(1, 1), 500, 0)])
    share = np.mean([(drawn_rows(points, 100, seed=seed) >= 500).mean() for seed in range(50)])
    assert share == pytest.approx(0.5, abs=0.03)


def test_every_point_is_as_likely_and_seeds_draw_otherwise() -> None:
    points = cloud(50)
    counts = np.bincount(np.concatenate([drawn_rows(points, 10, seed=seed) for seed in range(2000)]), minlength=50)
    assert np.abs(counts - 400).max() < 5 * np.sqrt(400 * 0.8)
    first = np.bincount([drawn_rows(points, 1, seed=seed)[0] for seed in range(2000)], minlength=50)
    assert np.abs(first - 40).max() < 5 * np.sqrt(40)


@pytest.mark.parametrize(("n", "count"), [(2, 64), (64, 1024), (900, 1024), (100, 100), (100, 40)])
def test_few_points_all_come_once_and_then_random_ones_again(n: int, count: int) -> None:
    rows = filled(cloud(n), count)
    assert len(rows) == count
    np.testing.assert_array_equal(rows[:n], np.arange(min(n, count)))
    again = np.bincount(rows[n:], minlength=n) if count > n else np.zeros(n)
    assert again.sum() == max(0, count - n)
    if n == 64:  # as from drawing with replacement: whole copies would have the variance 0
        assert again.mean() == 15
        assert 8 < again.var() < 26


def test_every_point_is_as_likely_to_come_again() -> None:
    points = cloud(20)
    again = np.array([np.bincount(filled(points, 60, seed=seed)[20:], minlength=20) for seed in range(1000)])
    assert np.abs(again.mean(0) - 2).max() < 5 * np.sqrt(2 * 0.95 / 1000)
    assert again.var() == pytest.approx(40 * 0.05 * 0.95, rel=0.05)  # of a binomial distribution


def test_a_point_at_the_edge_of_a_cell_changes_its_own_copies_alone() -> None:
    points = cloud(64)
    points[0], points[1] = -4, 4  # the bounding cube
    moved = points.copy()
    moved[7] += 1e-3
    one, other = (np.bincount(filled(some, 1024), minlength=64) for some in (points, moved))
    assert (np.delete(one != other, 7)).sum() <= one[7] + other[7]  # the others differ only by how many are left
    assert np.abs(np.delete(one - other, 7)).max() <= 3
    np.testing.assert_array_equal(filled(points * 1000, 1024), filled(points, 1024))


def test_equal_points_come_again_apart_from_each_other() -> None:
    points = np.repeat(cloud(8), 2, 0)
    again = np.bincount(filled(points, 400)[16:], minlength=16).reshape(8, 2)
    assert (again[:, 0] != again[:, 1]).any()


def test_copies_come_after_what_they_repeat() -> None:
    a, b, c = cloud(3)
    order, distinct = distinct_first(np.array([a, b, a, c, b, b]))
    assert (np.arange(6)[order].tolist(), distinct) == ([0, 1, 3, 2, 4, 5], 3)
    order, distinct = distinct_first(np.array([a, b, a, b]), np.array([a, a, b, a]))  # normals tell points apart
    assert (np.arange(4)[order].tolist(), distinct) == ([0, 1, 2, 3], 3)
    assert distinct_first(np.array([a, b, c]))[1] == 3


def test_keys_read_numbers_not_their_signs_of_zero() -> None:
    table = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    one, two, three = row_keys(table).tolist()
    assert one == two != three
    assert row_keys(table.astype(np.float32)).tolist() == [one, two, three]
    assert row_keys(table, seed=1)[0] != one


def test_a_mesh_is_the_set_of_its_triangles() -> None:
    found = trimesh.creation.icosphere(1)
    mesh = Mesh(np.array(found.vertices), np.array(found.faces))
    generator = np.random.default_rng(0)
    vertices, faces = generator.permutation(len(mesh.vertices)), generator.permutation(len(mesh.faces))
    number = np.empty_like(vertices)
    number[vertices] = np.arange(len(vertices))
    turned = np.stack([np.roll(face, generator.integers(3)) for face in number[mesh.faces]])[faces]
    (one, digest), (two, other) = canonical_mesh(mesh), canonical_mesh(Mesh(mesh.vertices[vertices], turned))
    assert digest == other
    np.testing.assert_array_equal(one.vertices[one.faces], two.vertices[two.faces])
    corner = one.vertices[one.faces]
    outwards = (np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]) * corner[:, 0]).sum(1)
    assert (outwards > 0).all()
    assert canonical_mesh(Mesh(mesh.vertices, mesh.faces[1:]))[1] != digest
    assert canonical_mesh(Mesh(mesh.vertices * 1000 + 7, mesh.faces))[1] == digest  # neither unit nor place matters
    assert canonical_mesh(Mesh(mesh.vertices * [1, 2, 1], mesh.faces))[1] != digest


def test_thin_triangles_may_begin_at_any_corner() -> None:
    """Two corners of each of the last four triangles are one vertex, or share a cell of the grid."""
    mesh = trimesh.creation.box((1, 2, 3))
    vertices = np.concatenate([mesh.vertices, mesh.vertices[:2] + 1e-9])
    thin = np.array([[0, 0, 5], [3, 3, 3], [0, 8, 5], [1, 4, 9]])
    faces = np.concatenate([mesh.faces, thin])
    one, digest = canonical_mesh(Mesh(vertices, faces))
    for turn in (1, 2):
        two, other = canonical_mesh(Mesh(vertices, np.concatenate([mesh.faces, np.roll(thin, turn, 1)])[::-1]))
        assert digest == other
        np.testing.assert_array_equal(one.vertices[one.faces], two.vertices[two.faces])


@pytest.mark.parametrize("count", [1, 64, 500, 2000])
@pytest.mark.parametrize("with_normals", [False, True])
def test_points_on_disk_are_drawn_as_those_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, with_normals: bool
) -> None:
    points = np.concatenate([cloud(800).round(2), cloud(200).round(2)])  # the last are copies of the first
    normals = cloud(1000, 1) if with_normals else None
    expected = drawn_rows(points, count, normals, seed=5)
    monkeypatch.setattr(content, "SLICE", 150)
    monkeypatch.setattr(workspace, "SLICE", 150)
    space = Workspace(tmp_path)
    mapped = space.zeros(points.shape, np.float64)
    mapped[:] = points
    rows = drawn_rows_on_disk(mapped, count, normals, seed=5, space=space)
    np.testing.assert_array_equal(points[rows], points[expected])
    if with_normals:  # without, copies cannot be told apart
        np.testing.assert_array_equal(rows, expected)
