from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.data.clouds import LabelledCloud, expect_files, pack_clouds, take_points
from sampled_transformer.data.errors import DataError
from sampled_transformer.data.pack import Pack


def cloud(count: int = 10, label: int = 0, name: str = "shape", normals: bool = False) -> LabelledCloud:
    values = np.random.default_rng(count).normal(size=(count, 3))
    return LabelledCloud(values, label, name, values if normals else None)


def pack(*clouds: LabelledCloud, **options: int) -> Pack:
    return pack_clouds(iter(clouds), len(clouds), ["a", "b"], "folder", **options)


def test_equals_packing_all_at_once() -> None:
    clouds = [cloud(label=i % 2, name=f"shape{i}", normals=True) for i in range(3)]
    result = pack(*clouds)
    expected = Pack.from_arrays([c.points for c in clouds], normals=[c.points for c in clouds])
    assert np.array_equal(result.points, expected.points)
    assert np.array_equal(result.normals, expected.normals)
    assert result.labels.tolist() == [0, 1, 0]
    assert result.names.tolist() == ["shape0", "shape1", "shape2"]
    assert result.classes == ("a", "b")


def test_clouds_of_different_sizes_need_a_number() -> None:
    with pytest.raises(
        DataError, match=r"^folder: other: expected 10 points, as in the shapes before it, got 9; set points$"
    ):
        pack(cloud(), cloud(9, name="other"))
    assert pack(cloud(), cloud(9), points=9).points.shape == (2, 9, 3)


def test_the_choice_does_not_depend_on_other_shapes() -> None:
    alone, together = pack(cloud(), points=4), pack(cloud(), cloud(12), points=4)
    assert np.array_equal(alone.points[0], together.points[0])


def test_errors_name_the_cloud() -> None:
    with pytest.raises(DataError, match=r"^folder: no shapes$"):
        pack()
    with pytest.raises(
        DataError, match=r"^folder: shape: expected normals, as in the shapes before it, got no normals"
    ):
        pack(cloud(normals=True), cloud())
    bad = cloud()
    bad.points[1, 1] = np.inf
    with pytest.raises(DataError, match=r"^folder: shape: expected finite numbers, got NaN or infinity in 1 of 10 "):
        pack(bad)
    with pytest.raises(DataError, match=r"^points: expected 1 to 10, the size of folder: shape, got 0$"):
        pack(cloud(), points=0)


@pytest.mark.parametrize("ragged", [False, True])
def test_take_points(ragged: bool) -> None:
    sizes = [8, 9, 10] if ragged else [9, 9, 9]
    clouds = [cloud(size).points for size in sizes]
    whole = Pack.from_arrays(clouds, normals=clouds, labels=[0, 1, 0], classes=["a", "b"])
    part = take_points(whole, 8, seed=3)
    assert part.points.shape == part.normals.shape == (3, 8, 3)
    assert part.labels.tolist() == [0, 1, 0]
    for i in range(3):
        own = whole.select(i)
        together = np.concatenate([own.points.reshape(-1, 3), own.normals.reshape(-1, 3)], 1).tolist()
        chosen = np.concatenate([part.points[i], part.normals[i]], 1).tolist()
        assert all(row in together for row in chosen)
        assert len({tuple(row) for row in chosen}) == 8
    assert take_points(whole, None) is whole
    with pytest.raises(DataError, match=r"^points: expected 1 to"):
        take_points(whole, 11)


def test_expect_files(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a", "b", "c")]
    files[1].touch()
    with pytest.raises(DataError, match=r"2 of 3 listed files are missing; the first is a$"):
        expect_files(tmp_path, files)
    expect_files(tmp_path, files[1:2])
