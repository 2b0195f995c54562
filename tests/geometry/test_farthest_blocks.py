"""Farthest points in blocks choose the same points as the plain loop."""

import pytest
import torch
from torch import Tensor

from sampled_transformer.geometry.farthest_blocks import BLOCK, choose_in_blocks


def plain_loop(points: Tensor, count: int, first: int) -> list[int]:
    """The definition: always the free point with the largest distance to the nearest chosen one, lowest index first."""
    points = points.double()
    nearest, chosen = torch.full((len(points),), torch.inf, dtype=torch.float64), [first]
    while len(chosen) < count:
        nearest = torch.minimum(nearest, (points - points[chosen[-1]]).square().sum(1))
        nearest[chosen[-1]] = -1
        chosen.append(int(nearest.argmax()))
    return chosen


@pytest.mark.parametrize("n", [1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 1000])
@pytest.mark.parametrize("dimension", [1, 3, 6])
def test_equals_the_plain_loop(n: int, dimension: int) -> None:
    points = torch.randn(n, dimension, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
    count, first = min(n, 60), n // 2
    assert choose_in_blocks(points, count, first).tolist() == plain_loop(points, count, first)


def test_points_at_one_place_are_no_quadratic_work() -> None:
    """Each choice once looked at all of them: minutes for these."""
    chosen = choose_in_blocks(torch.full((200_000, 3), 0.3), 50_000, 70_000)
    assert chosen.tolist() == [70_000, *range(49_999)]


@pytest.mark.parametrize("places", [1, 2, 40])
def test_points_at_few_places_come_in_order_when_all_places_are_taken(places: int) -> None:
    points = torch.randn(places, 3, generator=torch.Generator().manual_seed(0))[torch.arange(700) * 7 % places]
    assert choose_in_blocks(points, 600, 3).tolist() == plain_loop(points, 600, 3)


def test_ties_go_to_the_lowest_index_and_no_point_comes_twice() -> None:
    points = torch.randint(0, 3, (300, 3), generator=torch.Generator().manual_seed(0)).float()  # 27 places
    chosen = choose_in_blocks(points, 300, 5)
    assert chosen.tolist() == plain_loop(points, 300, 5)
    assert chosen.sort().values.tolist() == list(range(300))
