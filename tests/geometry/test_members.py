"""Groups of nearest points in no order, against sorted distances."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sampled_transformer.geometry import members
from sampled_transformer.geometry.members import nearest_members

TIES = {
    "random": lambda points: points,
    "twice": lambda points: torch.cat([points[:, :40]] * 2, 1),
    "lattice": lambda points: (points * 4).round() / 4,
    "thirds": lambda points: (points * 3).round() / 3,  # whose distances are equal but for rounding
    "rounded": lambda points: (points * 100).round() / 100,
    "far away": lambda points: (points * 3).round() / 3 + 1000,
    "small": lambda points: (points * 3).round() * 1e-20,
    "large": lambda points: (points * 3).round() * 1e17,
    "line": lambda points: points[..., :1].mul(9).round(),
}


def obvious_members(points: Tensor, centres: Tensor, size: int, own: bool = False) -> Tensor:
    """Squares summed one axis after the other, then a stable sort."""
    ways = (centres.unsqueeze(2) - points.unsqueeze(1)).square().unbind(3)
    squared = ways[0]
    for way in ways[1:]:
        squared = squared + way
    if own:
        squared.diagonal(0, 1, 2).fill_(-1.0)
    return squared.sort(dim=2, stable=True).indices[..., :size].sort(2).values


def clouds(batch: int, n: int) -> Tensor:
    return torch.rand(batch, n, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_members_are_the_nearest_points(dtype: torch.dtype) -> None:
    points = clouds(3, 40).to(dtype)
    found = nearest_members(points, points[:, :7], 5)
    expected = torch.cdist(points[:, :7], points).argsort(2)[..., :5]
    assert torch.equal(found.sort(2).values, expected.sort(2).values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("tree", [False, True])
@pytest.mark.parametrize("kind", TIES)
def test_of_equally_near_points_the_first_ones_are_taken(
    kind: str, tree: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "TREE_DISTANCES", 0 if tree else 10**9)
    monkeypatch.setattr(members, "TREE_CHUNK", 200)
    points = TIES[kind](clouds(3, 80).to(dtype))
    centres = points[:, ::3]
    for size in (1, 9, 80):
        expected = obvious_members(points, centres, size)
        assert torch.equal(nearest_members(points, centres, size).sort(2).values, expected)
        # Other devices and exported graphs compute all distances.
        assert torch.equal(members._search_in_chunks(points, centres, size).sort(2).values, expected)
        expected = obvious_members(points, points, size, own=True)
        assert torch.equal(nearest_members(points, points, size, own=True).sort(2).values, expected)
        assert torch.equal(members._search_in_chunks(points, points, size, own=True).sort(2).values, expected)


def test_a_tree_finds_the_members_of_many_points() -> None:
    points = (clouds(1, 5000) * 8).round() / 8  # most places have several points
    assert members.TREE_DISTANCES <= 900 * 5000
    expected = obvious_members(points, points[:, :900], 16)
    assert torch.equal(nearest_members(points, points[:, :900], 16).sort(2).values, expected)


def test_half_precision_is_compared_in_single() -> None:
    points = clouds(2, 60).bfloat16()
    with torch.autocast("cpu"):
        found = nearest_members(points, points[:, :9], 7)
    assert torch.equal(found.sort(2).values, obvious_members(points.float(), points[:, :9].float(), 7))


def test_many_distances_are_computed_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    points = clouds(2, 50)
    points[:, 1] = points[:, 0]
    monkeypatch.setattr(members, "DEVICE_CHUNK", 300)
    for own in (False, True):
        found = members._search_in_chunks(points, points, 5, own)
        assert torch.equal(found.sort(2).values, obvious_members(points, points, 5, own))
        assert members._search_in_chunks(points, points, 1, own)[0, 1].tolist() == [1 if own else 0]


def test_members_of_one_place_are_different_points() -> None:
    found = nearest_members(torch.zeros(1, 9, 3), torch.zeros(1, 2, 3), 4)
    assert all(len(set(group)) == 4 for group in found[0].tolist())


def test_a_tie_in_one_cloud_leaves_all_clouds_on_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored clouds have ties in almost every batch."""
    points = clouds(3, 600)
    expected = nearest_members(points, points[:, :70], 9)[[0, 2]]
    points[1] = (points[1] * 8).round() / 8  # hardly a group of it without a tie
    monkeypatch.setattr(members, "_search_in_chunks", None)
    found = nearest_members(points, points[:, :70], 9)
    assert torch.equal(found[[0, 2]], expected)
    distance = torch.cdist(points[1, :70], points[1])
    torch.testing.assert_close(distance.gather(1, found[1]).sort(1).values, distance.sort(1).values[:, :9])


def test_positions_that_are_not_finite_are_refused() -> None:
    points = clouds(1, 30)
    points[0, 3] = torch.nan
    with pytest.raises(ValueError, match="points: expected finite"):
        nearest_members(points, points[:, :2], 4)
