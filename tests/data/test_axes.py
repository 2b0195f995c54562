"""Turning shapes: rotations, exact, and undone by the opposite turn."""

from __future__ import annotations

import numpy as np
import pytest

from sampled_transformer.data import Pack
from sampled_transformer.data.axes import AXES, check_up, rotation, standard_up, turn, turn_pack, turn_raw
from sampled_transformer.data.formats.meshes import Mesh
from sampled_transformer.data.formats.point_files import Cloud


def direction(axis: str) -> np.ndarray:
    return np.eye(3, dtype=int)["xyz".index(axis[-1])] * (-1 if axis.startswith("-") else 1)


@pytest.mark.parametrize("to", AXES)
@pytest.mark.parametrize("up", AXES)
def test_every_turn_is_a_rotation_that_moves_up_to_its_place(up: str, to: str) -> None:
    matrix = rotation(up, to)
    assert (matrix @ matrix.T == np.eye(3)).all()
    assert round(np.linalg.det(matrix)) == 1
    assert (matrix @ direction(up) == direction(to)).all()
    points = np.random.default_rng(0).normal(size=(2, 5, 3))
    assert np.array_equal(turn(points, up, to), points @ matrix.T)
    assert np.array_equal(turn(turn(points, up, to), to, up), points)


def test_glTF_is_turned_as_everyone_turns_it() -> None:
    assert turn(np.array([1, 2, 3]), "y").tolist() == [1, -3, 2]
    assert [standard_up(name) for name in ("a.glb", "b.GLTF", "c.obj")] == ["y", "y", None]


def test_meshes_clouds_and_packs_turn_with_their_normals() -> None:
    points, normals = np.random.default_rng(1).normal(size=(2, 6, 3))
    cloud = turn_raw(Cloud(points, normals), "x")
    assert np.array_equal(cloud.points, turn(points, "x"))
    assert np.array_equal(cloud.normals, turn(normals, "x"))
    mesh = Mesh(points, np.array([[0, 1, 2]]))
    assert turn_raw(mesh, None) is turn_raw(mesh, "z") is mesh
    assert turn_raw(mesh, "-z").faces is mesh.faces
    units = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    pack = Pack.from_arrays([points], normals=[units])
    turned = turn_pack(pack, "-y")
    assert np.array_equal(turned.points, turn(pack.points, "-y"))
    assert np.array_equal(turned.normals, turn(pack.normals, "-y"))
    assert (pack.up, turned.up, turn_pack(pack, "z").up) == ("", "z", "z")
    assert turn_pack(pack, None) is pack


def test_what_is_no_axis() -> None:
    check_up("auto", auto=True)
    for up in ("auto", "w", "Z", ""):
        with pytest.raises(ValueError, match=f"up: expected one of z, y, x, -z, -y, -x, got '{up}'"):
            check_up(up)
