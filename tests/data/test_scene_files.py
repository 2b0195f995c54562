"""Scenes in files: what is written is what is read."""

import numpy as np
import pytest

from sampled_transformer.data import DataError, read_pack
from sampled_transformer.data.formats.ply import read_ply
from sampled_transformer.data.scene_files import write_scene
from sampled_transformer.data.sources.brick_scenes import Scene, brick_scene


@pytest.fixture(scope="module")
def scene() -> Scene:
    return brick_scene(5000, 1)


def test_ply(tmp_path, scene):
    write_scene(scene, tmp_path / "new" / "a.ply")
    data = (tmp_path / "new" / "a.ply").read_bytes()
    header, body = data.split(b"end_header\n", 1)
    assert b"comment class 2 stud\n" in header
    rows = np.frombuffer(body, [("place", "<f4", 3), ("normal", "<f4", 3), ("label", "<i2")])
    np.testing.assert_array_equal(rows["place"], scene.points)
    np.testing.assert_array_equal(rows["normal"], scene.normals)
    np.testing.assert_array_equal(rows["label"], scene.labels)
    cloud = read_ply(tmp_path / "new" / "a.ply")
    np.testing.assert_allclose(cloud.points, scene.points)
    np.testing.assert_allclose(cloud.normals, scene.normals)


def test_npz_is_a_pack(tmp_path, scene):
    write_scene(scene, tmp_path / "a.npz")
    pack = read_pack(tmp_path / "a.npz")
    assert pack.point_classes == scene.classes
    np.testing.assert_array_equal(pack.point_labels[0], scene.labels)
    np.testing.assert_allclose(pack.coordinates(0), scene.points, atol=1e-3)


def test_other_endings_and_places(tmp_path, scene):
    with pytest.raises(DataError, match=r"path: expected a file name ending in \.ply or \.npz, got .*a\.obj"):
        write_scene(scene, tmp_path / "a.obj")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        write_scene(scene, tmp_path / "file" / "a.ply")
