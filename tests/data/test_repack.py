"""Writing packs from named data sets and from other packs."""

import os

import numpy as np
import pytest

from sampled_transformer.data import DataError, Pack, load_data, read_pack, write_pack
from sampled_transformer.data.repack import load_splits, repack, shapes_below
from sampled_transformer.data.sources.modelnet import CLASSES


@pytest.fixture
def pack(tmp_path):
    """A pack of 20 points without normals in two splits."""
    for split, seed in (("train", 0), ("test", 1)):
        points = np.random.default_rng(seed).normal(size=(3, 20, 3))
        write_pack(Pack.from_arrays(points, labels=[0, 1, 1], classes=["a", "b"]), tmp_path / "pack" / f"{split}.npz")
    return tmp_path / "pack"


def test_embedded_data(tmp_path):
    report = repack("bricks", tmp_path / "out", points=32)
    assert report.counts == {"train": 1656, "test": 408}
    assert len(report.classes) == 18
    assert read_pack(tmp_path / "out", "test").points.shape == (408, 32, 3)
    assert os.listdir(tmp_path) == ["out"]


def test_pack_of_a_pack(tmp_path, pack):
    repack(str(pack), tmp_path / "out", points=7, seed=3)
    for split in ("train", "test"):
        small, large = read_pack(tmp_path / "out", split), read_pack(pack, split)
        assert small.points.shape == (3, 7, 3)
        np.testing.assert_array_equal(small.labels, large.labels)
        for few, many in zip(small.points.tolist(), large.points.tolist(), strict=True):
            assert all(point in many for point in few)
    np.testing.assert_array_equal(load_data(pack, "test", points=7, seed=3).points, small.points)


def test_normals(tmp_path, pack):
    repack(str(pack), tmp_path / "estimated", normals="estimate")
    normals = read_pack(tmp_path / "estimated", "train").batch([0, 1, 2]).normals
    np.testing.assert_allclose(normals.norm(dim=-1), 1, atol=0.02)
    repack(str(tmp_path / "estimated"), tmp_path / "none", normals="none")
    assert read_pack(tmp_path / "none", "train").normals is None


def test_one_file(tmp_path, pack):
    repack(str(pack / "test.npz"), tmp_path / "out.npz", points=5)
    assert read_pack(tmp_path / "out.npz").points.shape == (3, 5, 3)
    with pytest.raises(DataError, match=r"target: expected a file name ending in \.npz, got .*out"):
        repack(str(pack / "test.npz"), tmp_path / "out")
    with pytest.raises(DataError, match=r"target: expected a folder, got .*out\.npz"):
        repack(str(pack), tmp_path / "out.npz")


def test_what_cannot_be(tmp_path, pack):
    with pytest.raises(DataError, match=r"no train\.npz or test\.npz"):
        load_splits(str(tmp_path))
    with pytest.raises(DataError, match="no such file, folder or data set"):
        load_splits(str(tmp_path / "nowhere"))
    with pytest.raises(
        DataError, match="options: expected variant, points, seed, normalise for scanobjectnn, got 'colour'"
    ):
        repack("scanobjectnn", tmp_path / "out", str(tmp_path), colour=3)
    with pytest.raises(ValueError, match="points: expected 1 to 10000000"):
        repack("bricks", tmp_path / "out", points=0)


def test_folders_of_shapes_are_told_from_packs(tmp_path, pack):
    (tmp_path / "shapes").mkdir()
    assert shapes_below(str(tmp_path / "shapes")) == tmp_path / "shapes"
    assert shapes_below("folder", str(tmp_path)) == tmp_path
    assert shapes_below(str(pack)) is None
    assert shapes_below(str(pack / "train.npz")) is None
    assert shapes_below("bricks") is None
    with pytest.raises(DataError, match="root: expected the folder of shapes, got none"):
        shapes_below("folder")


def test_modelnet_meshes_are_a_folder_of_shapes(tmp_path):
    for category in CLASSES["modelnet10"]:
        path = tmp_path / "ModelNet10" / category / "train" / "1.off"
        path.parent.mkdir(parents=True)
        path.write_text("OFF")
    assert shapes_below("modelnet10", str(tmp_path)) == tmp_path / "ModelNet10"
    assert shapes_below("modelnet10", str(tmp_path / "ModelNet10")) == tmp_path / "ModelNet10"
    assert shapes_below("modelnet40", str(tmp_path / "ModelNet10")) is None  # 30 classes are missing


def test_labels_and_features_of_points_are_packed_too(tmp_path):
    random = np.random.default_rng(0)
    points, rows = random.normal(size=(2, 9, 3)), np.tile(np.arange(9), (2, 1))
    pack = Pack.from_arrays(
        points, point_labels=rows % 3, point_classes=list("abc"), features={"row": rows}, keep_size=True
    )
    write_pack(pack, tmp_path / "all.npz")
    report = repack(str(tmp_path / "all.npz"), tmp_path / "out.npz", points=5, normals="estimate", up_in_pack="y")
    assert report.point_classes == ("a", "b", "c")
    back = read_pack(tmp_path / "out.npz")
    assert (back.features["row"] % 3).tolist() == back.point_labels.tolist()
    for number in range(2):
        x, y, z = points[number][back.features["row"][number]].T
        np.testing.assert_allclose(back.coordinates(number), np.stack([x, -z, y], 1), atol=1e-3)
