"""A folder of labelled scans of one's own."""

from __future__ import annotations

from pathlib import Path

import laspy
import numpy as np
import pytest

from sampled_transformer.data import load_data
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.sources.scans import list_scans, load

UTM = np.array([500_000.0, 4_000_000.0, 100.0])


def table(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 20_000, (count, 3)) / 1000


def write_las(path: Path, labels: list[int], seed: int = 0, point_format: int = 3) -> np.ndarray:
    """Points in map coordinates with an intensity, a colour and a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = len(labels)
    points = table(count, seed) + UTM
    header = laspy.LasHeader(point_format=point_format, version="1.2")
    header.offsets, header.scales = UTM, [0.001] * 3
    las = laspy.LasData(header)
    las.x, las.y, las.z = points.T
    las.classification, las.intensity = np.array(labels), np.arange(count)
    las.gps_time = np.arange(count) / 7
    if point_format == 3:
        las.red = las.green = las.blue = np.arange(count) * 1000
    las.write(path)
    return points


def write_text(path: Path, labels: list[int], more: str = "echo", seed: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = np.column_stack([table(len(labels), seed), np.arange(len(labels)), labels])
    np.savetxt(path, rows, header=f"x,y,z,{more},label", comments="", delimiter=",", fmt="%.3f,%.3f,%.3f,%d,%d")


def test_surveys_in_map_coordinates(tmp_path: Path) -> None:
    points = write_las(tmp_path / "train" / "west.las", [2] * 30 + [6] * 20)
    write_las(tmp_path / "train" / "north.laz", [5] * 25, seed=1)
    write_las(tmp_path / "test" / "east.las", [2] * 9 + [0] * 3, seed=2)
    train, test = (load_data("scans", split, tmp_path) for split in ("train", "test"))
    assert train.point_classes == test.point_classes == ("never classified", "ground", "high vegetation", "building")
    assert train.names.tolist() == ["train/north.laz", "train/west.las"]
    assert (train.up, test.up) == ("z", "z")
    np.testing.assert_allclose(train.coordinates(1), points, atol=0.002)
    assert sorted(train.features) == ["colour", "intensity", "number_of_returns", "return_number", "scan_angle"]
    batch = train.batch([1])
    assert batch.point_labels.flatten().tolist() == [1] * 30 + [3] * 20
    assert batch.features["intensity"].flatten().tolist() == list(range(50))
    assert test.batch([0]).point_labels.flatten().tolist() == [1] * 9 + [0] * 3


def test_files_without_a_split(tmp_path: Path) -> None:
    for number in range(10):
        write_text(tmp_path / f"room {number}.csv", [7, 7, 40, -1], seed=number)
    (tmp_path / ".hidden.csv").write_text("no scan")
    (tmp_path / "readme.md").write_text("no scan")
    train, test = (load(tmp_path, split) for split in ("train", "test"))
    assert (len(train), len(test)) == (8, 2)
    assert {*train.names, *test.names} == {f"room {number}.csv" for number in range(10)}
    assert train.point_classes == ("class 7", "class 40")
    assert train.batch([0]).point_labels.flatten().tolist() == [0, 0, 1, -1]
    assert list(train.features) == ["echo"]
    assert train.up == ""
    assert load(tmp_path, "test").names.tolist() == test.names.tolist()
    assert len(load(tmp_path, "test", test_fraction=0.5)) == 5
    assert any(list_scans(tmp_path, seed=seed)["test"] != list_scans(tmp_path)["test"] for seed in range(1, 5))


def test_one_choice_for_all_files(tmp_path: Path) -> None:
    write_text(tmp_path / "train" / "a.csv", [0, 1, 1, 0, 0], "echo")
    write_text(tmp_path / "test" / "b.csv", [1, 2], "amplitude")
    assert list(load(tmp_path, "train").features) == []  # they share none
    with pytest.raises(DataError, match=r"b\.csv: features: expected echo, got amplitude"):
        load(tmp_path, "train", features="echo")
    named = load(tmp_path, "train", features="echo", columns="x,y,z,echo,label")
    assert named.features["echo"].flatten().tolist() == [0, 1, 2, 3, 4]


def test_columns_labels_and_fewer_points(tmp_path: Path) -> None:
    for split, count in (("train", 60), ("test", 20)):
        (tmp_path / split).mkdir()
        rows = np.column_stack([table(count), np.arange(count), np.arange(count) % 3])
        np.savetxt(tmp_path / split / "scan.xyz", rows, fmt="%.3f")
    pack = load(tmp_path, "train", columns="x,y,z,echo,truth", label="truth", points=25)
    assert (pack.points.shape, pack.point_classes) == ((1, 25, 3), ("class 0", "class 1", "class 2"))
    batch = pack.batch([0])
    assert (batch.features["echo"].flatten() % 3).tolist() == batch.point_labels.flatten().tolist()
    assert load(tmp_path, "test", columns="x,y,z,echo,truth", label="truth", grid=100.0).points.shape == (1, 1, 3)


def test_names_come_from_the_files(tmp_path: Path) -> None:
    for split, names in (("train", ["road", "tree"]), ("test", ["road", "tree"])):
        (tmp_path / split).mkdir()
        arrays = {"points": table(4), "point_labels": np.array([0, 1, 1, 0]), "normals": np.tile([0, 0, 1.0], (4, 1))}
        np.savez(tmp_path / split / "scan.npz", point_classes=np.array(names), **arrays)
    pack = load(tmp_path, "test")
    assert pack.point_classes == ("road", "tree")
    assert pack.normals is not None
    np.savez(tmp_path / "test" / "scan.npz", point_classes=np.array(["road", "car"]), **arrays)
    with pytest.raises(DataError, match=r"test/scan\.npz: expected class 1 to be 'tree', as in .*, got 'car'"):
        load(tmp_path, "test")


def test_what_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        load(tmp_path / "none", "train")
    with pytest.raises(DataError, match=r"expected scans \(\.las .*\) in it or in the folders train and test in it"):
        load(tmp_path, "train")
    write_text(tmp_path / "one.csv", [0, 1])
    with pytest.raises(DataError, match="expected at least 2 scans, or the folders train and test, got 1 scan"):
        load(tmp_path, "train")
    (tmp_path / "two.xyz").write_text("1 2 3 4\n")
    with pytest.raises(DataError, match=r"two\.xyz: expected labels, such as a field 'label', got column_4"):
        load(tmp_path, "train")
    (tmp_path / "two.xyz").unlink()
    write_text(tmp_path / "two.csv", [0, -5])
    with pytest.raises(DataError, match=r"two\.csv: label: expected at most 256 classes from 0 .* got -5"):
        load(tmp_path, "train")
    write_text(tmp_path / "two.csv", list(range(300)))
    with pytest.raises(DataError, match=r"two\.csv: label: expected at most 256 classes .* got 300 different ones"):
        load(tmp_path, "train")
    write_text(tmp_path / "two.csv", [0, 1])
    with pytest.raises(DataError, match="no split 'val'; available splits: train, test"):
        load(tmp_path, "val")
    for share in (0.0, 1.0):
        with pytest.raises(DataError, match="test_fraction: expected more than 0 and less than 1, got"):
            load(tmp_path, "train", test_fraction=share)


def test_scans_without_any_class_or_with_other_labels_are_named(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_text(tmp_path / f"{name}.csv", [-1] * 3)
    with pytest.raises(DataError, match="label: expected at least 1 point with a class, got 2 scans with no"):
        load(tmp_path, "train")
    (tmp_path / "two.csv").write_text("x,y,z,label\n1,2,3,0.5\n4,5,6,1\n")
    with pytest.raises(DataError, match=r"two\.csv: label: expected one whole number per point, got other values"):
        load(tmp_path, "train")


def test_features_with_gaps_are_left_out_with_a_warning_and_refused_if_asked_for(tmp_path: Path) -> None:
    points, labels, whole = table(4), np.arange(4) % 2, np.arange(4.0)
    np.savez(tmp_path / "a.npz", points=points, label=labels, height=whole, echo=whole)
    np.savez(tmp_path / "b.npz", points=points, label=labels, height=whole, echo=[0, np.nan, 1, np.inf])
    reason = r"b\.npz: echo: expected finite numbers, got NaN or infinity at 2 points"
    with pytest.warns(UserWarning, match=f"{reason}; echo is left out"):
        pack = load(tmp_path, "train")
    assert list(pack.features) == ["height"]
    assert list(load(tmp_path, "train", features="height").features) == ["height"]
    with pytest.raises(DataError, match=reason):
        load(tmp_path, "train", features="height,echo")


def test_normals_with_gaps_are_left_out(tmp_path: Path) -> None:
    points, labels, normals = table(4), np.arange(4) % 2, np.eye(3)[[0, 1, 2, 0]]
    np.savez(tmp_path / "a.npz", points=points, label=labels, normals=normals)
    normals[0] = np.nan
    np.savez(tmp_path / "b.npz", points=points, label=labels, normals=normals)
    with pytest.warns(UserWarning, match=r"b\.npz: normals: .* at 1 point; normals are left out"):
        assert load(tmp_path, "train").normals is None


def test_features_of_different_widths_are_refused(tmp_path: Path) -> None:
    for split, width in (("train", 2), ("test", 3)):
        (tmp_path / split).mkdir()
        np.savez(tmp_path / split / "a.npz", points=table(4), label=[0, 1, 0, 1], echo=np.ones((4, width)))
    with pytest.raises(DataError, match=r"test.a\.npz: echo: expected 2 numbers per point, as in the scans .* got 3"):
        load(tmp_path, "train")
