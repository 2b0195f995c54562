"""Large clouds are drawn from as small ones are, and leave no files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import laspy
import numpy as np
import pytest

from sampled_transformer.data import large_clouds
from sampled_transformer.data.axes import turn
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.files import open_raw, read_raw, read_shape
from sampled_transformer.data.large_clouds import is_large, large_cloud, turned_cloud

RANDOM = np.random.default_rng(0)
POINTS = RANDOM.uniform((5e5, 5e6, 0), (5e5 + 30, 5e6 + 20, 5), (3000, 3)).round(2)
NORMALS = RANDOM.normal(size=(3000, 3))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield tmp_path
    assert list(temporary.iterdir()) == []


def write_ply(path: Path, points: np.ndarray, normals: np.ndarray | None = None) -> Path:
    names = ["x", "y", "z", *(["nx", "ny", "nz"] if normals is not None else [])]
    table = points if normals is None else np.concatenate([points, normals], 1)
    head = ["ply", "format binary_little_endian 1.0", f"element vertex {len(points)}"]
    head += [*(f"property double {name}" for name in names), "end_header", ""]
    path.write_bytes("\n".join(head).encode() + table.astype("<f8").tobytes())
    return path


def write_las(path: Path, points: np.ndarray) -> Path:
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.offsets, header.scales = [5e5, 5e6, 0], [0.01] * 3
    las = laspy.LasData(header)
    las.x, las.y, las.z = points.T
    las.write(str(path))
    return path


@pytest.mark.parametrize("kind", ["las", "laz", "ply", "ply with normals"])
@pytest.mark.parametrize("normals", ["keep", "estimate", "none"])
@pytest.mark.parametrize("count", [64, 5000])
def test_the_same_points_are_drawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, normals: str, count: int
) -> None:
    points = np.concatenate([POINTS, POINTS[:500]])  # some of them twice
    path = folder / f"scan.{kind[:3]}"
    if kind.startswith("ply"):
        write_ply(path, points, np.concatenate([NORMALS, NORMALS[:500]]) if "normals" in kind else None)
    else:
        write_las(path, points)
    options = {"points": count, "normals": normals, "seed": 3}
    whole = read_shape(path, **options)  # type: ignore[arg-type]
    monkeypatch.setattr(large_clouds, "LARGE", 100)
    with open_raw(path) as raw:
        assert is_large(raw)
    large = read_shape(path, **options)  # type: ignore[arg-type]
    np.testing.assert_array_equal(large.points, whole.points)
    assert (large.normals is None) == (whole.normals is None)
    if whole.normals is not None:
        np.testing.assert_allclose(large.normals, whole.normals, atol=1e-6)
    assert large[2:] == whole[2:]


def test_small_clouds_and_other_files_are_read_as_a_whole(folder: Path) -> None:
    path = write_ply(folder / "a.ply", POINTS)
    with large_cloud(path) as found:
        assert found is None
    with open_raw(path) as raw:
        np.testing.assert_array_equal(raw[0], read_raw(path)[0])


def test_a_large_cloud_is_turned(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_clouds, "LARGE", 100)
    with large_cloud(write_ply(folder / "a.ply", POINTS, NORMALS)) as cloud:
        assert cloud is not None
        turned = turned_cloud(cloud, "y")
        assert is_large(turned)
        np.testing.assert_array_equal(turned.points, turn(POINTS, "y"))
        np.testing.assert_array_equal(turned.normals, turn(NORMALS, "y"))


def test_what_is_wrong_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_clouds, "LARGE", 100)
    broken = POINTS.copy()
    broken[[7, 2000], 1] = np.nan
    with pytest.raises(DataError, match=r"nan.ply: points: .* got NaN or infinity in 2 of 3000 rows \(first: row 7\)"):
        read_shape(write_ply(folder / "nan.ply", broken))
    with pytest.raises(DataError, match=r"same.ply: points: expected at least 2 different points, got 500 equal"):
        read_shape(write_ply(folder / "same.ply", np.ones((500, 3))))
    path = write_ply(folder / "short.ply", POINTS)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataError, match=r"short.ply"):
        read_shape(path)
