from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.clustering.files import read_points, read_table_of_points
from sampled_transformer.data.errors import DataError

CENTRES = np.array([[0.0, 0.0], [900.0, 0.0], [0.0, 900.0], [900.0, 900.0]])


@pytest.fixture
def corners() -> np.ndarray:
    """Forty points around each of four corners, far from the origin and in large units."""
    generator = np.random.default_rng(0)
    return (CENTRES[:, None] + generator.normal((5000, -3000), 20, size=(4, 40, 2))).reshape(-1, 2)


def write(path: Path, points: np.ndarray, head: str = "", separator: str = ",") -> Path:
    path.write_text(head + "".join(separator.join(map(repr, row)) + "\n" for row in points.tolist()))
    return path


@pytest.mark.parametrize(("head", "separator"), [("", ","), ("x,y\n", ","), ("# two\n\n", " "), ("", ";"), ("", ", ")])
def test_tables_of_text(tmp_path: Path, corners: np.ndarray, head: str, separator: str) -> None:
    assert np.array_equal(read_points(write(tmp_path / "a.csv", corners, head, separator), 2), corners)


def test_other_files(tmp_path: Path, corners: np.ndarray) -> None:
    np.save(tmp_path / "a.npy", corners)
    assert np.array_equal(read_points(tmp_path / "a.npy", 2), corners)
    wide = np.random.default_rng(0).normal(size=(30, 5))
    assert np.array_equal(read_points(write(tmp_path / "a.txt", wide), 5), wide)
    assert np.array_equal(read_points(write(tmp_path / "b.xyz", wide), 3), wide[:, :3])  # the rest may be colours
    with pytest.raises(
        DataError, match=r"a\.txt: expected 3 numbers per point, as in the network, got shape \(30, 5\)"
    ):
        read_points(tmp_path / "a.txt", 3)
    ply = "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float z\nend_header\n"
    (tmp_path / "a.ply").write_text(ply + "0 0 0\n1 2 3\n")
    assert read_points(tmp_path / "a.ply", 3).tolist() == [[0, 0, 0], [1, 2, 3]]
    (tmp_path / "a.off").write_text("OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n")
    assert read_points(tmp_path / "a.off", 3).shape == (2048, 3)


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("width,height\n", ("width", "height")),
        ('\ufeffbody mass ;"body height"\n', ("body mass", "body height")),
        ('flipper "mm", mass\n', ('flipper "mm"', "mass")),
        ("width height\n", ("width", "height")),
        ("# a comment\nwidth,height\n", ("width", "height")),
        ("width,width\n", ()),
        ("width\n", ()),
        ("", ()),
    ],
)
def test_names_in_the_first_line(corners: np.ndarray, tmp_path: Path, head: str, names: tuple[str, ...]) -> None:
    points, found = read_table_of_points(write(tmp_path / "a.csv", corners, head), 2)
    assert found == names
    assert np.array_equal(points, corners)
