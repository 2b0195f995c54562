from pathlib import Path

import h5py
import numpy as np
import pytest

from sampled_transformer.data import load_data
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.sources.scanobjectnn import CLASSES, VARIANTS, load

FILES = {
    "objbg": "main_split/{}_objectdataset.h5",
    "objonly": "main_split_nobg/{}_objectdataset.h5",
    "pbt50rs": "main_split/{}_objectdataset_augmentedrot_scale75.h5",
}


def write(root: Path, variant: str = "pbt50rs", side: str = "training", **arrays: np.ndarray) -> Path:
    path = root / FILES[variant].format(side)
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file.create_dataset(name, data=array, compression="gzip" if name == "data" else None)
    return path


def clouds(sets: int = 4, count: int = 16, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-0.5, 0.5, (sets, count, 3)).astype(np.float32)


def test_classes_are_in_the_public_order() -> None:
    assert len(CLASSES) == 15
    assert (CLASSES[0], CLASSES[4], CLASSES[14]) == ("bag", "chair", "toilet")


@pytest.mark.parametrize("above", ["", "h5_files", "ScanObjectNN"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_each_variant_and_split(tmp_path: Path, variant: str, above: str) -> None:
    for number, name in enumerate(FILES):
        for side, label in (("training", number), ("test", number + 3)):
            write(tmp_path / above, name, side, data=clouds(), label=np.full(4, label, np.int32))
    number = list(FILES).index(variant)
    train, test = (load(tmp_path, split, variant=variant) for split in ("train", "test"))
    assert train.labels.tolist() == [number] * 4
    assert test.labels.tolist() == [number + 3] * 4
    assert train.classes == CLASSES
    assert train.normals is None
    assert len(set(train.names)) == 4


def test_points_are_centred_and_scaled_unless_told_otherwise(tmp_path: Path) -> None:
    points = clouds()
    write(tmp_path, data=points, label=np.arange(4))
    expected = points - points.mean(1, keepdims=True)
    expected /= np.linalg.norm(expected, axis=-1).max(1)[:, None, None]
    assert np.allclose(load(tmp_path, "train").batch(slice(None)).points, expected, atol=1e-4)
    assert np.allclose(load(tmp_path, "train", normalise=False).batch(slice(None)).points, points, atol=1e-4)
    write(tmp_path, data=points * 3, label=np.arange(4))
    with pytest.raises(DataError, match=r"expected coordinates in \[-1, 1\]"):
        load(tmp_path, "train", normalise=False)


def test_fewer_points_are_a_seeded_choice(tmp_path: Path) -> None:
    points = clouds(count=50)
    write(tmp_path, data=points, label=np.arange(4))
    first, again, other = (load(tmp_path, "train", points=20, seed=s, normalise=False) for s in (0, 0, 1))
    assert first.points.shape == (4, 20, 3)
    assert np.array_equal(first.points, again.points)
    assert not np.array_equal(first.points, other.points)
    everything = load(tmp_path, "train", normalise=False).points
    for some, whole in zip(first.points.tolist(), everything.tolist(), strict=True):
        rows = {tuple(row) for row in some}
        assert len(rows) == 20
        assert rows <= {tuple(row) for row in whole}


@pytest.mark.parametrize("points", [0, -5, 51])
def test_points_out_of_range(tmp_path: Path, points: int) -> None:
    write(tmp_path, data=clouds(count=50), label=np.arange(4))
    with pytest.raises(DataError, match="points: expected 1 to 50"):
        load(tmp_path, "train", points=points)


def test_labels_in_a_column_and_as_bytes(tmp_path: Path) -> None:
    write(tmp_path, data=clouds().astype(np.float64), label=np.arange(4, dtype=np.uint8)[:, None], mask=np.ones(4))
    assert load(tmp_path, "train").labels.tolist() == [0, 1, 2, 3]


def test_broken_files_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, data=clouds(), label=np.arange(12, 16))
    with pytest.raises(DataError, match="'label': expected 0 to 14, got 12 to 15") as caught:
        load(tmp_path, "train")
    assert str(path) in str(caught.value)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    message = r"no ScanObjectNN \(objonly\) here; expected main_split_nobg.test_objectdataset\.h5 from h5_files\.zip"
    with pytest.raises(DataError, match=message) as caught:
        load(tmp_path, "test", variant="objonly")
    assert str(tmp_path) in str(caught.value)
    with pytest.raises(DataError, match=r"^variant: expected one of objbg, objonly, pbt50rs, got 'hard'"):
        load(tmp_path, "test", variant="hard")
    with pytest.raises(DataError, match=r"^split: expected 'train' or 'test', got 'val'"):
        load(tmp_path, "val")


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_by_name_are_as_the_public_protocol_has_them(tmp_path: Path, variant: str) -> None:
    values = clouds()
    write(tmp_path, variant, data=values, label=np.arange(4, dtype=np.int32))
    pack = load_data(f"scanobjectnn-{variant}", "train", tmp_path)
    np.testing.assert_allclose(pack.batch(range(4)).points.numpy(), values, atol=1e-4)  # neither centred nor scaled
