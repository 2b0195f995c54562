"""thin_by_grid against a dictionary of cells."""

from __future__ import annotations

from math import floor

import pytest
import torch

from sampled_transformer.geometry.grids import thin_by_grid


def slow_thin(points: torch.Tensor, side: list[float], ptr: list[int], shift: torch.Tensor) -> dict[tuple, list[int]]:
    """The rows in each cell, {(set, cell): rows}, the one nearest to the middle first."""
    cells: dict[tuple, list[tuple[float, int]]] = {}
    for number in range(len(ptr) - 1):
        for row in range(ptr[number], ptr[number + 1]):
            place = [(x + s) / side[number] for x, s in zip(points[row].tolist(), shift[number].tolist(), strict=True)]
            far = sum((x - floor(x) - 0.5) ** 2 for x in place)
            cells.setdefault((number, *map(floor, place)), []).append((far, row))
    return {cell: [row for _, row in sorted(rows)] for cell, rows in cells.items()}


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_one_point_per_cell_as_a_dictionary_finds_it(dimension: int) -> None:
    points = torch.rand(300, dimension, generator=torch.Generator().manual_seed(0)) * 4 - 2
    ptr, side = [0, 120, 120, 121, 300], [0.7, 1.0, 0.3, 1.3]
    shift = torch.rand(4, dimension, dtype=torch.float64)
    found = thin_by_grid(points, torch.tensor(side, dtype=torch.float64), ptr=ptr, shift=shift)
    cells = slow_thin(points, side, ptr, shift)
    assert sorted(found.kept.tolist()) == sorted(rows[0] for rows in cells.values())
    for rows in cells.values():
        assert {int(found.kept[found.cell[row]]) for row in rows} == {rows[0]}
    kept = [sum(cell[0] == number for cell in cells) for number in range(4)]
    assert found.ptr.diff().tolist() == kept
    for number in range(4):  # sets stay one after the other
        own = found.kept[found.ptr[number] : found.ptr[number + 1]]
        assert ((own >= ptr[number]) & (own < ptr[number + 1])).all()


def test_a_part_keeps_the_points_that_the_whole_keeps() -> None:
    points = torch.rand(400, 3)
    whole = set(thin_by_grid(points, 0.25, ptr=[0, 400]).kept.tolist())
    rows = (points[:, 0] < 0.5).nonzero().squeeze(1)
    part = thin_by_grid(points[rows], 0.25, ptr=[0, len(rows)])
    assert set(rows[part.kept].tolist()) == {row for row in whole if points[row, 0] < 0.5}


def test_the_order_of_the_points_does_not_matter() -> None:
    points = torch.rand(200, 3)
    order = torch.randperm(200)
    one, two = thin_by_grid(points, 0.3, ptr=[0, 200]), thin_by_grid(points[order], 0.3, ptr=[0, 200])
    assert torch.equal(points[one.kept], points[order][two.kept])


def test_points_that_coincide_leave_one() -> None:
    for side in (0.0, 1.0):
        found = thin_by_grid(torch.ones(7, 3), side, ptr=[0, 7])
        assert found.kept.tolist() == [0]
        assert found.cell.tolist() == [0] * 7


def test_no_points() -> None:
    found = thin_by_grid(torch.zeros(0, 3), 1.0, ptr=[0, 0, 0])
    assert found.kept.tolist() == []
    assert found.ptr.tolist() == [0, 0, 0]
    assert thin_by_grid(torch.zeros(0, 3), 1.0, ptr=[0]).ptr.tolist() == [0]


def test_a_point_far_away_changes_nothing_for_the_others() -> None:
    """Scans have stray points: one at the origin of map coordinates lies many million cells away."""
    points = torch.cat([torch.rand(100, 3, dtype=torch.float64), torch.tensor([[-5e5, -5.4e6, 1e12]]).double()])
    near = thin_by_grid(points[:100], 0.1, ptr=[0, 100])
    found = thin_by_grid(points, 0.1, ptr=[0, 101])
    assert set(found.kept.tolist()) == {*near.kept.tolist(), 100}
    assert torch.equal(found.kept[found.cell[:100]], near.kept[near.cell])
    assert len(thin_by_grid(torch.tensor([[0.0], [1e30], [-1e38]]), 1e-30, ptr=[0, 3]).kept) == 3


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="points: expected at most 3 coordinates for a grid, got 4"):
        thin_by_grid(torch.rand(5, 4), 1.0, ptr=[0, 5])
    with pytest.raises(ValueError, match="ptr: expected the last value to be the number of points"):
        thin_by_grid(torch.rand(5, 3), 1.0, ptr=[0, 4])
    with pytest.raises(ValueError, match="points: expected finite coordinates"):
        thin_by_grid(torch.full((5, 3), torch.nan), 1.0, ptr=[0, 5])
