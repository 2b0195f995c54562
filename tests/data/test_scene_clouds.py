"""Packing a stream of clouds with a label per point equals packing them at once, and errors name the cloud."""

from typing import Any

import numpy as np
import pytest

from sampled_transformer.data import DataError, Pack
from sampled_transformer.data.scene_clouds import SceneCloud, pack_scenes, thin_out


def cloud(count: int, seed: int = 0, **changes: Any) -> SceneCloud:
    random = np.random.default_rng(seed)
    points = random.normal(size=(count, 3)) * 4 + 50
    known = {
        "points": points,
        "name": f"room {seed}",
        "point_labels": np.arange(count) % 3 - 1,
        "normals": random.normal(size=(count, 3)),
        "features": {"colour": random.integers(0, 256, (count, 3)).astype(np.uint8), "height": points[:, 2]},
        "label": seed % 2,
    }
    return SceneCloud(**{**known, **changes})


@pytest.mark.parametrize("counts", [[5, 5], [4, 9, 1]], ids=["equal", "ragged"])
def test_equals_packing_all_at_once(counts: list[int]) -> None:
    clouds = [cloud(count, seed) for seed, count in enumerate(counts)]
    pack = pack_scenes(iter(clouds), ["a", "b"], "here", classes=["x", "y"], up="z")
    expected = Pack.from_arrays(
        [one.points for one in clouds],
        labels=[one.label for one in clouds],
        classes=["x", "y"],
        names=[one.name for one in clouds],
        normals=[one.normals for one in clouds],
        point_labels=[one.point_labels for one in clouds],
        point_classes=["a", "b"],
        features={key: [one.features[key] for one in clouds] for key in ("colour", "height")},
        keep_size=True,
        up="z",
    )
    assert repr(pack) == repr(expected)
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(pack.arrays()[name], array)
        assert pack.arrays()[name].dtype == array.dtype


def test_at_most_so_many_points() -> None:
    pack = pack_scenes([cloud(4), cloud(30, 1), cloud(20, 2)], ["a", "b"], "here", points=10)
    assert pack.counts().tolist() == [4, 10, 10]
    heights = np.split(pack.features["height"], pack.ptr[1:-1])
    for number, count in enumerate((4, 30, 20)):
        np.testing.assert_allclose(pack.coordinates(number)[:, 2], heights[number], atol=1e-3)
        assert set(heights[number]) <= set(cloud(count, number).points[:, 2])
    alone = pack_scenes([cloud(7), cloud(30, 1)], ["a", "b"], "here", points=10)
    np.testing.assert_array_equal(alone.features["height"][7:], heights[1])  # other clouds do not matter
    other = pack_scenes([cloud(7), cloud(30, 1)], ["a", "b"], "here", points=10, seed=1)
    assert not np.array_equal(other.features["height"], alone.features["height"])
    assert pack_scenes([cloud(9), cloud(8, 1)], ["a", "b"], "here", points=5).ptr is None


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"points": np.zeros((0, 3))}, "point_labels: expected one per point, 0, got 6"),
        ({"points": np.full((6, 3), np.nan)}, "expected finite numbers, got NaN"),
        ({"point_labels": np.full(6, 7)}, "point_labels: expected 0 to 1, or -1 for points to ignore, got 7"),
        ({"point_labels": np.zeros(5, int)}, "point_labels: expected one per point, 6, got 5"),
        ({"normals": None}, "expected normals, a label, .*, as in the shapes before it, got a label, colour"),
        ({"normals": np.zeros((5, 3))}, "normals: expected one per point, 6, got 5"),
        ({"features": {}}, "expected normals, a label, colour .*, height .*, as in .*, got normals, a label$"),
        ({"features": {"colour": np.zeros((6, 4)), "height": np.zeros(6)}}, r"got normals, a label, colour \(4,\)"),
        ({"label": None}, "expected normals, a label, "),
    ],
)
def test_errors_name_the_cloud(second: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        pack_scenes([cloud(6), cloud(6, 1, **second)], ["a", "b"], "here")
    assert str(error.value).startswith("here: room 1: ")


def test_nothing_to_pack() -> None:
    with pytest.raises(DataError, match=r"^here: no shapes$"):
        pack_scenes([], ["a"], "here")
    with pytest.raises(DataError, match=r"^points: expected at least 1, got 0$"):
        pack_scenes([cloud(6)], ["a", "b"], "here", points=0)


def test_one_point_per_cube() -> None:
    points = np.random.default_rng(0).uniform(-5, 5, (3000, 3))
    rows = thin_out(points, 2.0, np.random.default_rng(0))
    cubes = np.floor((points - points.min(0)) / 2).astype(int)
    assert len(np.unique(cubes[rows], axis=0)) == len(rows) == len(np.unique(cubes, axis=0))
    assert rows.tolist() == sorted(rows.tolist())
    assert rows.tolist() == thin_out(points, 2.0, np.random.default_rng(0)).tolist()
    assert rows.tolist() != thin_out(points, 2.0, np.random.default_rng(1)).tolist()
    assert len(thin_out(points, 1e-9, np.random.default_rng(0))) == 3000
    assert len(thin_out(points, 1e9, np.random.default_rng(0))) == 1


def test_cubes_before_points() -> None:
    thin = pack_scenes([cloud(500), cloud(400, 1)], ["a", "b"], "here", grid=4.0)
    assert 10 < len(thin.points) < 800
    few = pack_scenes([cloud(500), cloud(400, 1)], ["a", "b"], "here", grid=4.0, points=20)
    assert few.points.shape == (2, 20, 3)
    heights = np.split(thin.features["height"], thin.ptr[1:-1])
    assert all(set(few.features["height"][number]) <= set(heights[number]) for number in (0, 1))
    for grid in (0, -1.0, np.nan, np.inf):
        with pytest.raises(DataError, match="grid: expected a positive number, got "):
            pack_scenes([cloud(6)], ["a", "b"], "here", grid=grid)
    broken = cloud(6, 1, points=np.full((6, 3), np.nan))
    with pytest.raises(DataError, match="here: room 1: expected finite numbers"):
        pack_scenes([cloud(6), broken], ["a", "b"], "here", grid=1.0)
