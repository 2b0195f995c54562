"""Generated scenes: exact numbers of points, labels, splits, density, layouts, and scenes as a data set."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial import cKDTree

from sampled_transformer.data import DataError, load_data
from sampled_transformer.data.sources import brick_parts, bricks
from sampled_transformer.data.sources.brick_scenes import CELL, _area, brick_scene, load, load_parts

LAYOUTS = ("strewn", "built")
LABELS = ("primitive", "kind")


@pytest.mark.parametrize("points", [4096, 10_001, 60_000])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("labels", LABELS)
def test_exactly_as_many_points_as_asked(points: int, layout: Any, labels: Any) -> None:
    scene = brick_scene(points, 3, "test", labels, layout)
    assert scene.points.shape == scene.normals.shape == (points, 3)
    assert scene.labels.shape == (points,)
    assert (scene.points.dtype, scene.normals.dtype, scene.labels.dtype) == (np.float32, np.float32, np.int16)
    assert np.isfinite(scene.points).all()
    assert scene.classes[0] == "ground"
    assert 0 <= scene.labels.min() <= scene.labels.max() < len(scene.classes)
    assert 0.05 < (scene.labels == 0).mean() < 0.75
    np.testing.assert_allclose(np.linalg.norm(scene.normals, axis=1), 1, atol=0.06)


def test_classes() -> None:
    parts, kinds = brick_parts.load(None, "test").point_classes, bricks.load(None, "test").classes
    assert load_parts("test", "primitive").classes == ("ground", *parts)
    assert load_parts("test", "kind").classes == ("ground", *kinds)
    scene = brick_scene(200_000, 0, "train", "kind", "built")
    assert (np.bincount(scene.labels, minlength=19) > 0).all()


def test_a_seed_fixes_the_scene() -> None:
    one, again, other = brick_scene(5000, 7), brick_scene(5000, 7), brick_scene(5000, 8)
    for name in ("points", "normals", "labels"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    assert not np.array_equal(one.points, other.points)
    assert not np.array_equal(one.points, brick_scene(5000, 7, "test").points)


@pytest.mark.parametrize("labels", LABELS)
def test_parts_stay_in_their_split(labels: Any) -> None:
    source = brick_parts if labels == "primitive" else bricks
    for split in ("train", "test"):
        pack, parts = source.load(None, split), load_parts(split, labels)
        assert len(parts.points) == len(pack)
        heights = pack.points[..., 2] if labels == "primitive" else -pack.points[..., 1].astype(int)
        np.testing.assert_allclose(parts.points[..., 2], heights / 32767, atol=1e-6)
        expected = pack.point_labels if labels == "primitive" else np.repeat(pack.labels[:, None], 512, 1)
        np.testing.assert_array_equal(parts.labels, expected + 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_ground_is_a_plane_and_nothing_is_below_it(layout: Any) -> None:
    scene = brick_scene(30_000, 1, layout=layout)
    ground = scene.labels == 0
    assert np.abs(scene.points[ground, 2]).max() < 0.06
    assert scene.normals[ground, 2].min() > 0.98
    assert scene.points[~ground, 2].min() > -1e-4


def test_stacks_are_higher_and_their_parts_upright() -> None:
    strewn, built = (brick_scene(50_000, 2, layout=layout) for layout in LAYOUTS)
    assert strewn.points[:, 2].max() <= 2.01
    assert built.points[:, 2].max() > 4
    up = [(scene.normals[scene.labels == 2, 2] > 0.9).sum() for scene in (strewn, built)]
    down = [(scene.normals[scene.labels == 2, 2] < -0.9).sum() for scene in (strewn, built)]
    assert up[1] > 5 * down[1]  # the tops of studs
    assert up[0] / down[0] < up[1] / down[1]


def test_more_points_are_more_parts_of_the_same_density() -> None:
    few, many = brick_scene(30_000, 0), brick_scene(120_000, 0)
    areas = [np.prod(np.ptp(scene.points[scene.labels == 0, :2], axis=0)) for scene in (few, many)]
    assert areas[1] / areas[0] == pytest.approx(4, rel=0.2)
    distances = []
    for chosen in (few.labels == 0, few.labels > 0):
        points = few.points[chosen]
        distances.append(np.median(cKDTree(points).query(points, k=2)[0][:, 1]))
    assert 0.6 < distances[0] / distances[1] < 1.7


def test_no_point_is_drawn_twice() -> None:
    scene = brick_scene(50_000, 5, layout="built")
    assert len(np.unique(scene.points, axis=0)) > 0.995 * 50_000  # rounding alone makes a few coincide


def test_strewn_parts_do_not_overlap_much() -> None:
    """Few points lie near the border of a cell compared with its middle, because parts stay inside their cells."""
    scene = brick_scene(100_000, 4)
    inside = np.abs(scene.points[scene.labels > 0, :2] / CELL % 1 - 0.5).max(1)
    assert (inside > 0.49).mean() < 0.5 * (1 - 0.98**2)


def test_order_tells_nothing() -> None:
    scene = brick_scene(40_000, 6)
    assert np.bincount(scene.labels[:4000])[0] == pytest.approx(np.bincount(scene.labels)[0] / 10, rel=0.1)


def test_area_of_known_surfaces() -> None:
    random = np.random.default_rng(0)
    flat = np.concatenate([random.uniform(size=(2000, 2)), np.zeros((2000, 1))], 1)
    assert _area(flat, 1000) == pytest.approx(1, rel=0.15)
    assert _area(3 * flat, 1000) == pytest.approx(9, rel=0.15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 4095}, "points: expected 4096 to 5000000, got 4095"),
        ({"points": 5_000_001}, "points: expected 4096 to 5000000, got 5000001"),
        ({"seed": -1}, "seed: expected at least 0, got -1"),
        ({"split": "val"}, "split: expected 'train' or 'test', got 'val'"),
        ({"labels": "colour"}, "labels: expected 'primitive' or 'kind', got 'colour'"),
        ({"layout": "flying"}, "layout: expected 'strewn' or 'built', got 'flying'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        brick_scene(**{"points": 5000, **arguments})


def test_scenes_as_a_data_set() -> None:
    pack = load_data("brick-scenes", "test", scenes=3, points=5000, seed=2)
    assert pack.points.shape == (3, 5000, 3)
    assert pack.point_classes[:3] == ("ground", "body", "stud")
    assert (pack.up, pack.labels, pack.normals.shape) == ("z", None, (3, 5000, 3))
    assert pack.names.tolist() == ["strewn 0", "strewn 1", "strewn 2"]
    ground = pack.point_labels[1] == 0
    assert np.abs(pack.coordinates(1)[ground, 2]).max() < 0.06  # sizes are kept
    again = load_data("brick-scenes", "test", scenes=2, points=5000, seed=2)
    np.testing.assert_array_equal(again.points, pack.points[:2])
    assert not np.array_equal(pack.points[0], pack.points[1])
    train = load_data("brick-scenes", "train", scenes=2, points=5000, seed=2, labels="kind", layout="built")
    assert len(train.point_classes) == 19


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"root": "here"}, "root: expected none, because scenes are made anew, got here"),
        ({"split": "val"}, "split: expected 'train' or 'test', got 'val'"),
        ({"scenes": 0}, "scenes: expected at least 1, got 0"),
        ({"seed": -2}, "seed: expected at least 0, got -2"),
        ({"points": 10}, "points: expected 4096 to"),
    ],
)
def test_data_sets_that_cannot_be(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(**arguments)
