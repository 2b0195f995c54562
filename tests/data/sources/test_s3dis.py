"""A tiny folder in the layout of S3DIS."""

from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data import load_data
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.sources.s3dis import CLASSES, load

OBJECTS = {"floor_1": 30, "chair_1": 12, "chair_2": 9, "stairs_1": 7}


def table(name: str, count: int) -> np.ndarray:
    random = np.random.default_rng(sum(map(ord, name)))
    return np.concatenate([random.uniform(-20, 20, (count, 3)), random.integers(0, 256, (count, 3))], 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for area in range(1, 7):
        for room in ("hallway_1", "office_1") if area == 5 else ("office_1",):
            folder = tmp_path / f"Area_{area}" / room / "Annotations"
            folder.mkdir(parents=True)
            for name, count in OBJECTS.items():
                count += area  # rooms of different sizes
                np.savetxt(folder / f"{name}.txt", table(f"{area} {name}", count), fmt="%.3f %.3f %.3f %d %d %d")
        (tmp_path / f"Area_{area}" / ".DS_Store").write_text("")
    return tmp_path


def test_rooms_labels_colours_and_metres(root: Path) -> None:
    pack = load_data("s3dis", "test", root)
    assert pack.names.tolist() == ["Area_5/hallway_1", "Area_5/office_1"]
    assert (pack.up, pack.point_classes, len(CLASSES)) == ("z", CLASSES, 13)
    names = sorted(OBJECTS)  # the order of the files
    expected = np.concatenate([table(f"5 {name}", OBJECTS[name] + 5) for name in names])
    np.testing.assert_allclose(pack.coordinates(1), expected[:, :3], atol=0.002)
    batch = pack.batch(1)
    np.testing.assert_allclose(batch.features["colour"].reshape(-1, 3).numpy(), expected[:, 3:] / 255, rtol=1e-6)
    assert pack.features["colour"].reshape(-1, 3)[-len(expected) :].tolist() == expected[:, 3:].tolist()
    assert pack.features["colour"].dtype == np.uint8
    labels = [CLASSES.index(name) for name in ("chair", "chair", "floor", "clutter")]  # stairs are clutter
    assert batch.point_labels.flatten().tolist() == np.repeat(labels, [17, 14, 35, 12]).tolist()


def test_the_area_to_test_on(root: Path) -> None:
    train = load(root, "train")
    assert train.names.tolist() == [f"Area_{area}/office_1" for area in (1, 2, 3, 4, 6)]
    assert train.ptr is not None
    assert load(root, "test", area=2).names.tolist() == ["Area_2/office_1"]
    assert len(load(root, "train", area=2)) == 6
    for area in (0, 7):
        with pytest.raises(DataError, match=f"area: expected 1 to 6, got {area}"):
            load(root, "test", area=area)


def test_fewer_points(root: Path) -> None:
    assert load(root, "train", points=40).points.shape == (5, 40, 3)
    assert load(root, "train", grid=100.0).points.shape == (5, 1, 3)


def test_a_folder_above(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    above = tmp_path_factory.mktemp("above")
    root.rename(above / "Stanford3dDataset_v1.2_Aligned_Version")
    assert len(load(above, "test")) == 2


def test_the_published_control_character_is_a_blank(root: Path) -> None:
    path = root / "Area_5" / "hallway_1" / "Annotations" / "floor_1.txt"
    path.write_bytes(b"1.0 2.0 3.0 185\x10187 182\n" + path.read_bytes())
    pack = load(root, "test")
    assert [185, 187, 182] in pack.features["colour"].tolist()


def test_what_is_missing_is_named(root: Path, tmp_path: Path) -> None:
    for path in (root / "Area_3" / "office_1" / "Annotations").iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"Area_3/office_1: expected files Annotations/CLASS_NUMBER\.txt, got none"):
        load(root, "train")
    assert len(load(root, "test")) == 2
    with pytest.raises(DataError, match="no S3DIS here; expected the folders Area_5 of the archive"):
        load(tmp_path / "elsewhere", "test")
    (tmp_path / "empty" / "Area_5").mkdir(parents=True)
    with pytest.raises(DataError, match="Area_5: expected folders of rooms, got none"):
        load(tmp_path / "empty", "test")
    with pytest.raises(DataError, match=r"^split: expected 'train' or 'test', got 'val'"):
        load(root, "val")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3 4 5\n", r"chair_1\.txt: expected lines x y z r g b, got a table of shape \(1, 5\)"),
        ("1 2 3 4 5 x\n", r"chair_1\.txt: expected lines x y z r g b \(could not convert"),
        ("1 2 3 4 5 6\n1 2 3 4 256 6\n", r"chair_1\.txt: expected colours from 0 to 255, got \[4.*\] in line 2"),
        ("", r"chair_1\.txt: .*empty file"),
    ],
)
def test_broken_files_are_named(root: Path, text: str, message: str) -> None:
    (root / "Area_5" / "office_1" / "Annotations" / "chair_1.txt").write_text(text)
    with pytest.raises(DataError, match=message):
        load(root, "test")
