from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from sampled_transformer.models.tokens import GroupEmbedding, group_points


def clouds(batch: int, n: int) -> Tensor:
    return torch.rand(batch, n, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1


def plain_groups(cloud: Tensor, groups: int, size: int) -> tuple[Tensor, list[set[tuple[float, ...]]]]:
    """Farthest points and sorted distances of one cloud, point by point."""
    chosen = [0]
    while len(chosen) < groups:
        distance = torch.stack([(cloud - cloud[i]).square().sum(1) for i in chosen]).amin(0)
        chosen.append(int(distance.argmax()))
    members = []
    for i in chosen:
        order = (cloud - cloud[i]).square().sum(1).argsort()[:size]
        members.append({tuple(point.tolist()) for point in cloud[order]})
    return cloud[chosen], members


@pytest.mark.parametrize(("n", "groups", "size"), [(40, 6, 5), (600, 70, 9), (8, 8, 8)])
def test_groups_are_farthest_points_with_their_neighbours(n: int, groups: int, size: int) -> None:
    points = clouds(3, n)
    found = group_points(points, groups, size)
    assert found.points.shape == (3, groups, size, 3)
    for number, cloud in enumerate(points):
        centres, members = plain_groups(cloud, groups, size)
        assert torch.equal(found.centres[number], centres)
        absolute = found.points[number] + centres[:, None]
        for group, expected in zip(absolute, members, strict=True):
            nearest = (group[:, None] - torch.tensor(sorted(expected))).norm(dim=2).amin(1)
            assert nearest.max() < 1e-6
            assert len(expected) == size


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_groups_far_from_the_origin_and_of_any_type(dtype: torch.dtype) -> None:
    points = (clouds(2, 200).double() + torch.tensor([300.0, -20.0, 0.0])).float().to(dtype)
    found = group_points(points, 5, 7)
    assert found.points.dtype == dtype
    distance = torch.cdist(found.centres.double(), points.double()).sort(2).values[..., :7]
    own = found.points.double().norm(dim=3).sort(2).values
    torch.testing.assert_close(own, distance, rtol=1e-2, atol=1e-4)


def test_points_at_the_same_distance_are_taken_once_each() -> None:
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
    found = group_points(torch.cat([torch.zeros(1, 3), corners])[None], 1, 5)
    assert found.points[0, 0].norm(dim=1).sort().values.tolist() == pytest.approx([0, *[3**0.5] * 4])
    assert len(found.points[0, 0].unique(dim=0)) == 5


def test_groups_under_autocast_are_the_same() -> None:
    points = clouds(2, 600)
    with torch.autocast("cpu", torch.bfloat16):
        found = group_points(points, 70, 9)
    assert torch.equal(found.points, group_points(points, 70, 9).points)


def test_too_few_points_are_refused() -> None:
    with pytest.raises(ValueError, match=r"points: expected at least 8 per cloud, for 8 groups of 4, got 7"):
        group_points(clouds(2, 7), 8, 4)
    with pytest.raises(ValueError, match=r"points: expected at least 9 per cloud, for 2 groups of 9, got 8"):
        group_points(clouds(2, 8), 2, 9)
    with pytest.raises(ValueError, match=r"points: expected floats of shape \(batch, n, 3\)"):
        group_points(clouds(2, 8)[0], 2, 4)


def test_identical_points_are_groups_of_zeros() -> None:
    found = group_points(torch.ones(2, 20, 3), 4, 5)
    assert torch.equal(found.centres, torch.ones(2, 4, 3))
    assert torch.equal(found.points, torch.zeros(2, 4, 5, 3))


class PlainEmbedding(nn.Module):
    """Point-MAE's: the largest values stand beside every point, in convolutions of width one."""

    def __init__(self, dim: int, width: int) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv1d(3, width, 1), nn.BatchNorm1d(width), nn.ReLU(), nn.Conv1d(width, 2 * width, 1)
        )
        self.second = nn.Sequential(
            nn.Conv1d(4 * width, 4 * width, 1), nn.BatchNorm1d(4 * width), nn.ReLU(), nn.Conv1d(4 * width, dim, 1)
        )

    def forward(self, points: Tensor) -> Tensor:
        batch, groups, size, _ = points.shape
        x = self.first(points.reshape(batch * groups, size, 3).transpose(2, 1))
        x = torch.cat([x.max(2, keepdim=True).values.expand(-1, -1, size), x], 1)
        return self.second(x).max(2).values.view(batch, groups, -1)


def test_the_embedding_is_that_of_point_mae() -> None:
    torch.manual_seed(0)
    plain, own = PlainEmbedding(12, 8), GroupEmbedding(12, 8)
    with torch.no_grad():
        for one, two in (
            (plain.first[0], own.first[0]),
            (plain.first[3], own.first[3]),
            (plain.second[3], own.last[2]),
        ):
            two.weight.copy_(one.weight.squeeze(2))
            two.bias.copy_(one.bias)
        own.largest.weight.copy_(plain.second[0].weight[:, :16, 0])
        own.point.weight.copy_(plain.second[0].weight[:, 16:, 0])
        own.point.bias.copy_(plain.second[0].bias)
    points = torch.randn(3, 7, 5, 3)
    for _ in range(2):  # with batch statistics, then with those it kept
        torch.testing.assert_close(own(points), plain(points), rtol=1e-4, atol=1e-5)
        plain.eval(), own.eval()


def test_the_order_within_a_group_does_not_matter() -> None:
    embedding = GroupEmbedding(12, 8).eval()
    points = torch.randn(2, 3, 6, 3)
    torch.testing.assert_close(embedding(points), embedding(points.flip(2)))


def test_width_must_be_positive() -> None:
    with pytest.raises(ValueError, match="embedding: expected at least 1, got 0"):
        GroupEmbedding(12, 0)


def test_groups_are_taken_by_number_in_each_cloud() -> None:
    groups = group_points(clouds(2, 40), 6, 5)
    index = torch.tensor([[4, 0], [1, 5]])
    some = groups.take(index)
    for cloud in range(2):
        assert torch.equal(some.centres[cloud], groups.centres[cloud, index[cloud]])
        assert torch.equal(some.points[cloud], groups.points[cloud, index[cloud]])
