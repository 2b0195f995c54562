"""A tiny folder in the layout of ShapeNetPart."""

import json
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data import load_data
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.sources.shapenetpart import CLASSES, FOLDER, POINT_CLASSES, load, parts_of

SYNSETS = {name: f"{10_000_000 + number:08d}" for number, name in enumerate(CLASSES)}
LISTS = {"train": ["Airplane/a1", "Table/t1"], "val": ["Chair/c1"], "test": ["Airplane/a2", "Mug/m1"]}


def shape(category: str, name: str) -> np.ndarray:
    """Shapes of different sizes that have all parts of their category."""
    random = np.random.default_rng(sum(map(ord, name)))
    count = 30 + int(random.integers(20))
    labels = np.resize(list(parts_of(category)), count)
    normals = random.normal(size=(count, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return np.concatenate([random.normal(size=(count, 3)), normals, labels[:, None]], 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / FOLDER
    (folder / "train_test_split").mkdir(parents=True)
    text = "\n".join(f"{name}\t{synset}" for name, synset in SYNSETS.items())
    (folder / "synsetoffset2category.txt").write_text(text)
    for split, entries in LISTS.items():
        names = []
        for entry in entries:
            category, name = entry.split("/")
            path = folder / SYNSETS[category] / f"{name}.txt"
            path.parent.mkdir(exist_ok=True)
            np.savetxt(path, shape(category, name), fmt="%.6f")
            names.append(f"shape_data/{SYNSETS[category]}/{name}")
        (folder / "train_test_split" / f"shuffled_{split}_file_list.json").write_text(json.dumps(names))
    return folder


def test_the_published_numbers_of_parts() -> None:
    assert (len(CLASSES), len(POINT_CLASSES)) == (16, 50)
    ranges = {"Airplane": (0, 3), "Bag": (4, 5), "Cap": (6, 7), "Car": (8, 11), "Chair": (12, 15), "Earphone": (16, 18)}
    ranges |= {"Guitar": (19, 21), "Knife": (22, 23), "Lamp": (24, 27), "Laptop": (28, 29), "Motorbike": (30, 35)}
    ranges |= {"Mug": (36, 37), "Pistol": (38, 40), "Rocket": (41, 43), "Skateboard": (44, 46), "Table": (47, 49)}
    assert {name: (parts_of(name)[0], parts_of(name)[-1]) for name in CLASSES} == ranges
    assert POINT_CLASSES[13] == "Chair 1"


def test_points_normals_labels_and_parts(root: Path) -> None:
    pack = load_data("shapenetpart", "test", root)
    assert pack.names.tolist() == ["a2", "m1"]
    assert [pack.classes[label] for label in pack.labels] == ["Airplane", "Mug"]
    assert (pack.up, pack.point_classes) == ("y", POINT_CLASSES)
    expected = shape("Mug", "m1")
    batch = pack.batch(1)
    np.testing.assert_allclose(pack.coordinates(1), expected[:, :3], atol=1e-3)
    np.testing.assert_allclose(batch.normals, expected[:, 3:6], atol=0.01)
    assert batch.point_labels.tolist() == expected[:, 6].tolist()


def test_training_is_train_and_val_as_everybody_does(root: Path) -> None:
    assert load(root, "train").names.tolist() == ["a1", "t1", "c1"]
    assert load(root, "train", trainval=False).names.tolist() == ["a1", "t1"]
    assert load(root, "val").names.tolist() == ["c1"]
    assert load(root.parent, "test").names.tolist() == ["a2", "m1"]


def test_fewer_points(root: Path) -> None:
    pack = load(root, "train", points=20)
    assert pack.points.shape == (3, 20, 3)
    assert pack.ptr is None
    assert max(load(root, "train", points=35).counts()) <= 35


def test_what_is_missing_is_named(root: Path, tmp_path: Path) -> None:
    (root / SYNSETS["Table"] / "t1.txt").unlink()
    with pytest.raises(DataError, match=r"1 of 3 listed files are missing; the first is 10000015/t1\.txt"):
        load(root, "train")
    (root / "train_test_split" / "shuffled_test_file_list.json").unlink()
    with pytest.raises(DataError, match=r"shuffled_test_file_list\.json: No such file"):
        load(root, "test")
    with pytest.raises(DataError, match="no ShapeNetPart here; expected synsetoffset2category"):
        load(tmp_path / "elsewhere", "test")
    with pytest.raises(DataError, match=r"^split: expected 'train', 'val' or 'test', got 'all'"):
        load(root, "all")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"list\.json: not JSON"),
        ("{}", r"list\.json: expected a list of names, got dict"),
        ("[7]", r"list\.json: expected a list of names, got list"),
        ('["shape_data/99/a"]', r"expected entries shape_data/SYNSET/NAME, got 'shape_data/99/a'"),
        ('["shape_data/10000000/../a"]', r"expected entries shape_data/SYNSET/NAME"),
        ('["10000000/a"]', r"expected entries shape_data/SYNSET/NAME"),
        ("[]", r": no shapes$"),
    ],
)
def test_lists_that_are_none(root: Path, content: str, message: str) -> None:
    (root / "train_test_split" / "shuffled_test_file_list.json").write_text(content)
    with pytest.raises(DataError, match=message):
        load(root, "test")


def test_broken_files_are_named(root: Path) -> None:
    path = root / SYNSETS["Mug"] / "m1.txt"
    good = shape("Mug", "m1")
    np.savetxt(path, good[:, :6])
    with pytest.raises(DataError, match=r"m1\.txt: expected lines x y z nx ny nz part, got a table of shape"):
        load(root, "test")
    good[4, 6] = 12
    np.savetxt(path, good)
    with pytest.raises(DataError, match=r"m1\.txt: expected parts 36 to 37 of Mug, got 12 in line 5"):
        load(root, "test")
    path.write_text("")
    with pytest.raises(DataError, match=r"m1\.txt: .*empty file"):
        load(root, "test")
    (root / "synsetoffset2category.txt").write_text("Airplane 02691156\n")
    with pytest.raises(DataError, match=r"synsetoffset2category\.txt: expected 16 lines"):
        load(root, "test")
