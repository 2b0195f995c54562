"""Tiles: every point has a home, and no tile has too many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sampled_transformer.inference import tiles
from sampled_transformer.inference.tiles import plan_tiles
from sampled_transformer.support import workspace

RANDOM = np.random.default_rng(0)
SCENES = {
    "square": RANDOM.uniform(0, 10, (5000, 3)),
    "strip": RANDOM.uniform(0, 1, (5000, 3)) * [100, 0.5, 3],
    "crowded": np.concatenate([RANDOM.normal(0, 0.01, (4000, 3)), RANDOM.uniform(-50, 50, (1000, 3))]),
    "two places": np.concatenate(
        [RANDOM.uniform(0, 1, (2500, 3)), RANDOM.uniform(0, 1, (2500, 3)) + np.array([1e4, 0, 0])]
    ),
    "grid": np.stack(np.meshgrid(np.arange(70.0), np.arange(70.0), [0.0]), -1).reshape(-1, 3),
    "map": RANDOM.uniform(0, 100, (3000, 3)).round(2) + np.array([5e5, 5.4e6, 300]),
    "line": RANDOM.uniform(0, 1, (3000, 1)) * [[0.0, 7.0, 0.0]],
    "one": np.array([[1.0, 2.0, 3.0]]),
}


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("most", [100, 700, 10_000])
def test_every_point_has_a_home_and_no_tile_too_many(name: str, most: int) -> None:
    points = SCENES[name]
    found = plan_tiles(points, most)
    inside = np.stack([tile.distance(points) == 0 for tile in found])
    assert inside.any(0).all()
    # Points on an edge are in two tiles; all others have one home.
    on_edge = np.stack(
        [
            (np.isin(points[:, :2], [tile.lower, tile.upper]) | np.isclose(points[:, :2], tile.lower)).any(1)
            for tile in found
        ]
    ).any(0)
    assert (inside.sum(0)[~on_edge] == 1).all()
    assert inside[:, ~on_edge].any(1).sum() <= len(found)
    assert (inside[:, ~on_edge].sum(1) <= most).all()
    if len(points) <= most:
        assert len(found) == 1


def test_tiles_are_not_needlessly_small() -> None:
    assert len(plan_tiles(SCENES["square"], 700)) <= 16


def test_points_that_coincide_cannot_be_cut() -> None:
    (tile,) = plan_tiles(np.ones((50, 3)), 10)
    assert (tile.distance(np.ones((50, 3))) == 0).all()


def test_the_distance_is_that_to_the_rectangle_on_the_ground() -> None:
    tile = tiles.Tile(np.array([0.0, -1.0]), np.array([2.0, np.inf]))
    points = np.array([[1.0, 5, 9], [3.0, 0, 0], [-0.5, -4, 0], [2.0, -1, 7]])
    assert tile.distance(points).tolist() == [0, 1, 3, 0]


def test_a_memory_map_and_small_slices_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = SCENES["crowded"]
    mapped = np.memmap(tmp_path / "points", np.float64, "w+", shape=points.shape)
    mapped[:] = points
    expected = plan_tiles(points, 300)
    monkeypatch.setattr(workspace, "SLICE", 999)
    for one, other in zip(plan_tiles(mapped, 300), expected, strict=True):
        assert (one.lower == other.lower).all()
        assert (one.upper == other.upper).all()


def test_the_order_of_the_points_does_not_matter() -> None:
    points = SCENES["square"]
    one, other = plan_tiles(points, 700), plan_tiles(points[::-1], 700)
    assert np.array_equal(np.stack(one), np.stack(other))
