"""Groups of nearest points in no order, against sorted distances."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sampled_transformer.geometry import members
from sampled_transformer.geometry.members import nearest_members


def clouds(batch: int, n: int) -> Tensor:
    return torch.rand(batch, n, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_members_are_the_nearest_points(dtype: torch.dtype) -> None:
    points = clouds(3, 40).to(dtype)
    found = nearest_members(points, points[:, :7], 5)
    expected = torch.cdist(points[:, :7], points).argsort(2)[..., :5]
    assert torch.equal(found.sort(2).values, expected.sort(2).values)


def test_members_of_one_place_are_different_points() -> None:
    found = nearest_members(torch.zeros(1, 9, 3), torch.zeros(1, 2, 3), 4)
    assert all(len(set(group)) == 4 for group in found[0].tolist())


def test_a_tie_in_one_cloud_leaves_all_clouds_on_the_fast_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored clouds have ties in almost every batch."""
    points = clouds(3, 600)
    expected = nearest_members(points, points[:, :70], 9)[[0, 2]]
    points[1] = (points[1] * 8).round() / 8  # hardly a group of it without a tie
    monkeypatch.setattr(members, "nearest_neighbours", None)
    found = nearest_members(points, points[:, :70], 9)
    assert torch.equal(found[[0, 2]], expected)
    distance = torch.cdist(points[1, :70], points[1])
    torch.testing.assert_close(distance.gather(1, found[1]).sort(1).values, distance.sort(1).values[:, :9])


def test_positions_that_are_not_finite_are_refused() -> None:
    points = clouds(1, 30)
    points[0, 3] = torch.nan
    with pytest.raises(ValueError, match="points: expected finite"):
        nearest_members(points, points[:, :2], 4)
