"""Cycles along a space-filling curve."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import Cycle
from sampled_transformer.attention.curve_cycles import curve_cycle, join_heads, random_turn, seeded_turn
from sampled_transformer.sets import Sets


def test_a_curve_visits_near_points_one_after_the_other() -> None:
    points = torch.rand(2, 500, 3, generator=torch.Generator().manual_seed(0))
    turn = random_turn(3, torch.Generator().manual_seed(1), points.device)
    torch.testing.assert_close(turn @ turn.T, torch.eye(3, dtype=torch.float64))

    def step(cycle: Cycle) -> float:
        following = cycle.with_batch(cycle.successor)[:, 0].expand(2, -1)
        return float((points - points.gather(1, following[..., None].expand(-1, -1, 3))).norm(dim=-1).mean())

    random = step(Cycle.sample(500))
    for curve in ("morton", "hilbert"):
        assert step(curve_cycle(points, turn, curve, Sets())) < 0.35 * random


def test_a_seed_has_its_turn() -> None:
    device = torch.device("cpu")
    assert torch.equal(seeded_turn(3, (0, 1, 2), device), seeded_turn(3, (0, 1, 2), device))
    assert not torch.equal(seeded_turn(3, (0, 1, 2), device), seeded_turn(3, (0, 1, 3), device))


@pytest.mark.parametrize("curve", ["morton", "hilbert"])
def test_packed_sets_follow_the_curve_in_the_same_fine_cells(curve: str) -> None:
    """Points nearer than 2^-10 of the set's side, given against their order, besides two far ones."""
    line = torch.linspace(1e-4, 0, 50, dtype=torch.float64)
    points = torch.cat([line, torch.tensor([1.0, -1.0], dtype=torch.float64)])[:, None].expand(-1, 3).contiguous()
    turn = torch.eye(3, dtype=torch.float64)
    plain = curve_cycle(points[None], turn, curve, Sets())
    packed = curve_cycle(points[None], turn, curve, Sets(ptr=torch.tensor([0, 52])))
    assert torch.equal(plain.order[0], packed.order)


def test_joined_heads_walk_one_cycle_and_then_the_other() -> None:
    one, two = Cycle.identity(6), Cycle.sample(6, heads=2, generator=torch.Generator().manual_seed(0))
    joined = join_heads(one, two, batch=3)
    assert joined.order.shape == (3, 3, 6)
    assert torch.equal(joined.order[1, :1], one.order)
    assert torch.equal(joined.successor[2, 1:], two.successor)
