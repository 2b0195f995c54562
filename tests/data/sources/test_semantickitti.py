"""A tiny folder in the layout of SemanticKITTI."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sampled_transformer.data import load_data
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.sources.semantickitti import CLASSES, IGNORED, LEARNING_MAP, load

RAW = np.array([0, 1, 10, 40, 60, 70, 99, 252, 259], np.uint32)


def scan(sequence: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng((sequence, number))
    count = 50 + sequence + number
    table = np.concatenate([random.uniform(-70, 70, (count, 3)), random.uniform(0, 1, (count, 1))], 1)
    return table.astype(np.float32), np.resize(RAW, count) | np.uint32(7 << 16)  # the upper bits number an object


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for sequence in range(11):
        folder = tmp_path / "sequences" / f"{sequence:02d}"
        (folder / "velodyne").mkdir(parents=True)
        (folder / "labels").mkdir()
        for number in range(4 if sequence == 8 else 1):
            points, labels = scan(sequence, number)
            points.tofile(folder / "velodyne" / f"{number:06d}.bin")
            labels.tofile(folder / "labels" / f"{number:06d}.label")
    return tmp_path


def test_the_published_classes() -> None:
    numbers = [number for members in LEARNING_MAP.values() for number in members]
    assert len(CLASSES) == 19
    assert len(set(numbers)) == len(numbers) == 30
    assert not set(numbers) & set(IGNORED)
    assert (CLASSES[0], CLASSES[8], CLASSES[18]) == ("car", "road", "traffic-sign")


def test_points_labels_remission_and_metres(root: Path) -> None:
    pack = load_data("semantickitti", "test", root)
    assert pack.names.tolist() == [f"08/{number:06d}" for number in range(4)]
    assert (pack.up, pack.point_classes) == ("z", CLASSES)
    points, labels = scan(8, 2)
    np.testing.assert_allclose(pack.coordinates(2), points[:, :3], atol=0.01)
    batch = pack.batch(2)
    np.testing.assert_allclose(batch.features["remission"][:, 0], points[:, 3], atol=1e-3)
    known = [-1, -1, *(CLASSES.index(name) for name in ("car", "road", "road", "vegetation")), -1]
    known += [CLASSES.index("car"), CLASSES.index("other-vehicle")]
    assert batch.point_labels.tolist() == np.resize(known, len(labels)).tolist()


def test_splits_sequences_and_every_so_many_scans(root: Path) -> None:
    train = load(root, "train")
    assert [name[:2] for name in train.names] == ["00", "01", "02", "03", "04", "05", "06", "07", "09", "10"]
    assert load(root, "val").names.tolist() == load(root, "test").names.tolist()
    assert load(root, "test", every=3).names.tolist() == ["08/000000", "08/000003"]
    choices: list[Any] = ["00,03", ["00", "03"], (0, 3), "0, 3"]
    for sequences in choices:
        assert load(root, "train", sequences=sequences).names.tolist() == ["00/000000", "03/000000"]
    assert load(root, "train", sequences=7).names.tolist() == ["07/000000"]
    wrong: list[Any] = ["x", "22", "-1", "1,1", ""]
    for sequences in wrong:
        with pytest.raises(DataError, match="sequences: expected different numbers from 00 to 21, got "):
            load(root, "train", sequences=sequences)
    with pytest.raises(DataError, match="every: expected at least 1, got 0"):
        load(root, "test", every=0)


def test_fewer_points(root: Path) -> None:
    assert load(root, "test", points=30).points.shape == (4, 30, 3)
    assert load(root, "test", grid=1000.0).points.shape == (4, 1, 3)


def test_folders_above_and_below(root: Path) -> None:
    assert len(load(root / "sequences", "test")) == 4
    (root / "dataset").mkdir()
    (root / "sequences").rename(root / "dataset" / "sequences")
    assert len(load(root, "test")) == 4


def test_what_is_missing_is_named(root: Path, tmp_path: Path) -> None:
    folder = root / "sequences" / "08"
    (folder / "labels" / "000002.label").unlink()
    with pytest.raises(DataError, match=r"08/labels/000002\.label: No such file"):
        load(root, "test")
    assert len(load(root, "test", every=3)) == 2
    for path in (folder / "velodyne").iterdir():
        path.unlink()
    with pytest.raises(DataError, match=r"08: expected scans velodyne/NUMBER\.bin, got none"):
        load(root, "test")
    with pytest.raises(DataError, match=r"no SemanticKITTI here; expected sequences/NN/velodyne .* for 08, from"):
        load(tmp_path / "elsewhere", "test")
    with pytest.raises(DataError, match=r"^split: expected 'train', 'val' or 'test', got 'all'"):
        load(root, "all")


def test_broken_files_are_named(root: Path) -> None:
    folder = root / "sequences" / "08"
    points, labels = scan(8, 1)
    path = folder / "labels" / "000001.label"
    labels[:-3].tofile(path)
    with pytest.raises(DataError, match=r"000001\.label: expected 59 labels, one per point, got 56"):
        load(root, "test")
    path.write_bytes(labels.tobytes()[:-1])
    with pytest.raises(DataError, match=r"000001\.label: expected rows of 4 bytes, got 235 bytes"):
        load(root, "test")
    (labels * 0 + 77).tofile(path)
    with pytest.raises(DataError, match=r"000001\.label: expected classes of SemanticKITTI, got 77"):
        load(root, "test")
    labels.tofile(path)
    path = folder / "velodyne" / "000001.bin"
    path.write_bytes(points.tobytes()[:-5])
    with pytest.raises(DataError, match=r"000001\.bin: expected rows of 16 bytes, got 939 bytes"):
        load(root, "test")
    points[3, 1] = np.nan
    points.tofile(path)
    with pytest.raises(DataError, match=r"000001\.bin: expected finite numbers, got NaN"):
        load(root, "test")
    path.write_bytes(b"")
    with pytest.raises(DataError, match=r"000001\.bin: empty file"):
        load(root, "test")
