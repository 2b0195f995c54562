"""ModelNet: `load` finds the layout, cuts out the classes and turns the axes."""

from pathlib import Path

import numpy as np
import pytest
from helpers.modelnet import check, table

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.pack import Pack, write_pack
from sampled_transformer.data.sources.modelnet import load
from sampled_transformer.data.sources.modelnet_layouts import CLASSES

FORTY, TEN = CLASSES["modelnet40"], CLASSES["modelnet10"]


def write_box(path: Path, sides: tuple[float, float, float], joined: bool = False) -> None:
    """A box as OFF; `joined` writes the header as some files of ModelNet40 have it, OFF8 12 0."""
    path.parent.mkdir(parents=True, exist_ok=True)
    corners = [[x * sides[0], y * sides[1], z * sides[2]] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    lines = [f"OFF{'' if joined else chr(10)}8 6 0", *(" ".join(map(str, c)) for c in corners)]
    path.write_text("\n".join(lines + ["4 " + " ".join(map(str, quad)) for quad in quads]) + "\n")


def write_meshes(root: Path, classes: tuple[str, ...]) -> Path:
    """Two training shapes and one test shape per class."""
    for name in classes:
        for place, joined in (("train", False), ("train", True), ("test", False)):
            write_box(root / name / place / f"{name}_{int(joined):04d}.off", (4, 3, 1 + joined), joined)
    return root


class TestMeshes:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        return write_meshes(tmp_path, TEN)

    def test_points_normals_and_labels(self, root: Path) -> None:
        pack = load(root, "train", variant="modelnet10", points=500)
        assert pack.points.shape == (20, 500, 3)
        assert pack.classes == TEN
        assert pack.labels.tolist() == [label for label in range(10) for _ in range(2)]
        assert len(load(root, "test", variant="modelnet10", points=10)) == 10
        batch = pack.batch(0)
        extent = batch.points[0].amax(0) - batch.points[0].amin(0)
        assert np.allclose(extent / extent[2], [4, 3, 1], rtol=0.05)
        assert np.allclose(np.sort(batch.normals[0].abs().numpy(), axis=1), [[0, 0, 1]] * 500, atol=0.01)

    def test_default_number_of_points_and_seed(self, root: Path) -> None:
        first, again, other = (load(root, "test", variant="modelnet10", seed=seed) for seed in (0, 0, 1))
        assert first.points.shape == (10, 2048, 3)
        assert np.array_equal(first.points, again.points)
        assert not np.array_equal(first.points, other.points)

    def test_a_mesh_that_cannot_be_read_is_left_out_and_named(self, root: Path) -> None:
        (root / "bathtub" / "train" / "bathtub_0001.off").write_text("OFF\n8 6 0\n1 2 3\n")
        with pytest.warns(UserWarning, match=r"bathtub_0001\.off: "):
            pack = load(root, "train", variant="modelnet10", points=16)
        assert np.bincount(pack.labels).tolist() == [1] + [2] * 9

    @pytest.mark.parametrize("points", [0, -1])
    def test_points_out_of_range(self, root: Path, points: int) -> None:
        with pytest.raises(ValueError, match="points: expected"):
            load(root, "train", variant="modelnet10", points=points)

    def test_all_classes_are_expected(self, root: Path) -> None:
        with pytest.raises(DataError, match="expected 40 classes, got none of airplane, bench"):
            load(root, "test", points=16)

    def test_modelnet10_folder_goes_before_modelnet40(self, tmp_path: Path) -> None:
        write_meshes(tmp_path / "both" / "ModelNet10", TEN)
        write_box(tmp_path / "both" / "ModelNet40" / "bed" / "train" / "bed_0099.off", (1, 1, 1))
        assert len(load(tmp_path / "both", "train", variant="modelnet10", points=8)) == 20

    def test_up(self, root: Path) -> None:
        z_up, y_up = (load(root, "test", variant="modelnet10", points=64, up=up).points[0] for up in ("z", "y"))
        assert np.array_equal(y_up, np.stack([z_up[:, 0], z_up[:, 2], -z_up[:, 1]], 1))


def test_a_pack_is_a_layout_too(tmp_path: Path) -> None:
    values = table()
    pack = Pack.from_arrays(values[None, :, :3], labels=[2], classes=FORTY, normals=values[None, :, 3:])
    write_pack(pack, tmp_path / "test.npz")
    check(load(tmp_path, "test"), 0, values)
    assert load(tmp_path, "test", points=4).points.shape == (1, 4, 3)
    below = tmp_path.rename(tmp_path.with_name("modelnet40")).parent
    check(load(below, "test"), 0, values)
    tmp_path = below / "modelnet40"
    with pytest.raises(DataError, match=r"^up: expected none, because .* does not say which axis is up, got 'z'"):
        load(tmp_path, "test", up="z")


def test_modelnet10_out_of_modelnet40(hdf5: tuple[Path, list[np.ndarray]]) -> None:
    root, tables = hdf5
    pack = load(root, "train", variant="modelnet10")
    assert pack.classes == TEN
    assert [pack.classes[label] for label in pack.labels] == ["chair", "bathtub", "table"]
    check(pack, 0, tables[1])
    (root / "shape_names.txt").write_text("\n".join(f"name{number}" for number in range(40)))
    with pytest.raises(DataError, match="expected 10 classes, got none of bathtub, bed"):
        load(root, "train", variant="modelnet10")


def test_up(hdf5: tuple[Path, list[np.ndarray]]) -> None:
    root, tables = hdf5
    published, same, turned = (load(root, "train", up=up) for up in (None, "y", "z"))
    assert np.array_equal(published.points, same.points)
    for start in (0, 3):
        x, y, z = tables[0].T[start : start + 3]
        tables[0][:, start : start + 3] = np.stack([x, -z, y], 1)  # a rotation: what was up in y is up in z
    check(turned, 0, tables[0])


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"no modelnet10 here or in ModelNet10, .*ply_data_test\*\.h5 .*a pack"
    ) as caught:
        load(tmp_path, "test", variant="modelnet10")
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
    for options in ({"split": "val"}, {"split": "train", "variant": "modelnet41"}, {"split": "train", "up": "x"}):
        name = list(options)[-1]
        with pytest.raises(DataError, match=rf"^{name}: expected '\w+' or '\w+', got '{options[name]}'"):
            load(tmp_path, **options)
