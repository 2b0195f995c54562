from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.errors import DataError
from sampled_transformer.data.sources.shapenet import CLASSES, SYNSETS, load

TRAIN = ["02691156-aa.npy", "04379243-bb-2.npy", "02691156-cc.npy"]
TEST = ["03001627-dd.npy"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for folder in ("shapenet_pc", "ShapeNet-55"):
        (tmp_path / folder).mkdir()
    for name in TRAIN + TEST:
        np.save(tmp_path / "shapenet_pc" / name, random.normal(size=(40, 3)).astype(np.float32))
    (tmp_path / "ShapeNet-55" / "train.txt").write_text("\n".join(TRAIN) + "\n")
    (tmp_path / "ShapeNet-55" / "test.txt").write_text("\r\n".join(TEST))
    return tmp_path


def test_classes() -> None:
    assert len(SYNSETS) == len(set(CLASSES)) == 55
    assert list(SYNSETS) == sorted(SYNSETS)
    assert all(len(synset) == 8 and synset.isdigit() for synset in SYNSETS)


def test_lists_order_labels_and_points(root: Path) -> None:
    pack = load(root, "train")
    assert pack.names.tolist() == [name.removesuffix(".npy") for name in TRAIN]
    assert [pack.classes[label] for label in pack.labels] == ["airplane", "table", "airplane"]
    points = np.load(root / "shapenet_pc" / TRAIN[1]).astype(float)
    points -= points.mean(0)
    points /= np.linalg.norm(points, axis=1).max()
    assert np.allclose(pack.batch(1).points[0], points, atol=1e-4)
    assert load(root, "test").names.tolist() == ["03001627-dd"]


def test_whole_trains_on_both_lists(root: Path) -> None:
    pack = load(root, "train", whole=True)
    assert pack.names.tolist() == [name.removesuffix(".npy") for name in TRAIN + TEST]
    assert len(load(root, "test", whole=True)) == 1


def test_folder_above_is_found(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    above = tmp_path_factory.mktemp("above")
    root.rename(above / "ShapeNet55-34")
    assert len(load(above, "train")) == 3


def test_fewer_points(root: Path) -> None:
    assert load(root, "train", points=12).points.shape == (3, 12, 3)
    with pytest.raises(DataError, match=r"points: expected 1 to 40, the size of .*02691156-aa, got 41"):
        load(root, "train", points=41)


def test_listed_files_that_are_missing_are_counted(root: Path) -> None:
    for name in TRAIN[1:]:
        (root / "shapenet_pc" / name).unlink()
    with pytest.raises(
        DataError, match=r"2 of 3 listed files are missing; the first is shapenet_pc/04379243-bb-2\.npy"
    ):
        load(root, "train")


@pytest.mark.parametrize("line", ["99999999-aa.npy", "02691156-aa.txt", "02691156-a/../../aa.npy", "airplane"])
def test_lines_that_name_no_shape(root: Path, line: str) -> None:
    (root / "ShapeNet-55" / "train.txt").write_text(f"{TRAIN[0]}\n{line}\n")
    with pytest.raises(DataError, match=r"train\.txt: entry 2: expected \{synset\}-\{id\}\.npy"):
        load(root, "train")


def test_empty_list(root: Path) -> None:
    (root / "ShapeNet-55" / "train.txt").write_text("\n")
    with pytest.raises(DataError, match=r": no shapes$"):
        load(root, "train")


def test_broken_clouds_name_their_file(root: Path) -> None:
    path = root / "shapenet_pc" / TRAIN[1]
    good = np.load(path)
    np.save(path, good[:, :2])
    with pytest.raises(
        DataError, match=r"04379243-bb-2\.npy: expected floats of shape \(n, 3\), got float32 \(40, 2\)"
    ):
        load(root, "train")
    np.save(path, good[:30])
    with pytest.raises(
        DataError, match="04379243-bb-2: expected 40 points, as in the shapes before it, got 30; set points"
    ):
        load(root, "train")
    good[3, 1] = np.nan
    np.save(path, good)
    with pytest.raises(DataError, match=r"04379243-bb-2: expected finite numbers, got NaN or infinity in 1 of 40"):
        load(root, "train")
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"04379243-bb-2\.npy: "):
        load(root, "train")
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"04379243-bb-2\.npy: "):
        load(root, "train")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    message = (
        "no ShapeNet-55 here; expected the folder shapenet_pc and ShapeNet-55/test.txt from the archive ShapeNet55-34"
    )
    with pytest.raises(DataError, match=message) as caught:
        load(tmp_path, "test")
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(DataError, match=r"^split: expected"):
        load(tmp_path, "val")
