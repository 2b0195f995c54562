from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.inference.feature_files import (
    check_feature_file,
    is_feature_file,
    write_features,
    write_point_features,
)
from sampled_transformer.inference.features import PointFeatures

NAMES = ["a.off", "b, c.xyz"]
RANDOM = np.random.default_rng(0)
TABLE = [RANDOM.normal(size=5).astype(np.float32) * 10.0**power for power in (-20, 3)]
CLOUDS = [
    PointFeatures(RANDOM.normal(size=(3, 5)).astype(np.float32), RANDOM.normal(size=(3, 3)), None),
    PointFeatures(RANDOM.normal(size=(2, 5)).astype(np.float32), RANDOM.normal(size=(2, 3)), np.array([4, 9])),
]


def test_numpy_reads_one_row_per_shape(tmp_path: Path) -> None:
    write_features(tmp_path / "a.npz", NAMES, TABLE)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert set(file) == {"names", "features"}
        assert file["names"].tolist() == NAMES
        np.testing.assert_array_equal(file["features"], np.stack(TABLE))


def test_numpy_reads_one_row_per_point(tmp_path: Path) -> None:
    write_point_features(tmp_path / "a.npz", NAMES, CLOUDS)
    with np.load(tmp_path / "a.npz", allow_pickle=False) as file:
        assert file["names"].tolist() == NAMES
        assert file["ptr"].tolist() == [0, 3, 5]
        assert file["rows"].tolist() == [-1, -1, -1, 4, 9]
        for number, cloud in enumerate(CLOUDS):
            own = slice(*file["ptr"][number : number + 2])
            np.testing.assert_array_equal(file["features"][own], cloud.features)
            np.testing.assert_array_equal(file["points"][own], cloud.points)


def test_csv_gives_every_number_back(tmp_path: Path) -> None:
    write_features(tmp_path / "a.csv", NAMES, TABLE)
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    assert heading == ["file", "f0", "f1", "f2", "f3", "f4"]
    assert [row[0] for row in rows] == NAMES
    np.testing.assert_array_equal(np.array([row[1:] for row in rows]).astype(np.float32), np.stack(TABLE))
    write_point_features(tmp_path / "a.csv", NAMES, CLOUDS)
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    assert heading == ["file", "row", "x", "y", "z", "f0", "f1", "f2", "f3", "f4"]
    assert [row[:2] for row in rows] == [["a.off", "-1"]] * 3 + [["b, c.xyz", "4"], ["b, c.xyz", "9"]]
    np.testing.assert_array_equal(
        np.array([row[2:5] for row in rows]).astype(float), np.concatenate([c[1] for c in CLOUDS])
    )
    found = np.array([row[5:] for row in rows]).astype(np.float32)
    np.testing.assert_array_equal(found, np.concatenate([c[0] for c in CLOUDS]))


def test_pyarrow_reads_parquet(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    write_features(tmp_path / "a.parquet", NAMES, TABLE)
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["file", "f0", "f1", "f2", "f3", "f4"]
    assert table["file"].to_pylist() == NAMES
    found = np.stack([table[f"f{i}"].to_numpy() for i in range(5)], 1)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.stack(TABLE))
    write_point_features(tmp_path / "a.parquet", NAMES, CLOUDS)
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table["row"].to_pylist() == [-1, -1, -1, 4, 9]
    np.testing.assert_array_equal(table["y"].to_numpy(), np.concatenate([c[1] for c in CLOUDS])[:, 1])
    np.testing.assert_array_equal(table["f4"].to_numpy(), np.concatenate([c[0] for c in CLOUDS])[:, 4])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_failed_write_leaves_the_old_file(ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match=r".+"):
        write_features(path, NAMES, TABLE[:1])
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_our_own_files_are_known(tmp_path: Path) -> None:
    for name in ("a.npz", "a.csv"):
        write_features(tmp_path / name, NAMES, TABLE)
        assert is_feature_file(tmp_path / name)
        write_point_features(tmp_path / name, NAMES, CLOUDS)
        assert is_feature_file(tmp_path / name)
    (tmp_path / "points.csv").write_text("x,y,z\n1,2,3\n")
    (tmp_path / "broken.npz").write_bytes(b"no archive")
    np.savez(tmp_path / "points.npz", points=np.zeros((3, 3)))
    for name in ("points.csv", "broken.npz", "points.npz", "absent.csv", "shape.off"):
        assert not is_feature_file(tmp_path / name)


def test_other_targets_are_refused(tmp_path: Path) -> None:
    check_feature_file(str(tmp_path / "a.NPZ"))
    with pytest.raises(ValueError, match=r"out: expected a file name ending in \.npz or \.csv or \.parquet, got"):
        check_feature_file("a.pkl")
    with pytest.raises(ValueError, match="out: expected a file in an existing folder"):
        check_feature_file(str(tmp_path / "nowhere" / "a.csv"))


def test_parquet_without_its_package(tmp_path: Path) -> None:
    program = """
import sys
sys.modules["pyarrow"] = None  # as if it were not installed
from sampled_transformer.cli import main
sys.exit(main(["features", "nothing.off", "--out", "a.parquet"]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    expected = 'pyarrow is not installed: pip install "sampled-transformer[parquet]"'
    assert done.stderr == f"sampled-transformer: error: {expected}\n"
