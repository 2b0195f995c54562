"""build_levels against brute force."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer.geometry.grids import thin_by_grid
from sampled_transformer.geometry.neighbourhoods import LARGEST_RATIO, SPREAD, build_levels, measure_spacing


def sets(*sizes: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(sum(sizes), 3, generator=generator, dtype=torch.float64).to(dtype)
    return points, torch.tensor([0, *sizes]).cumsum(0)


def own_distances(points: torch.Tensor, ptr: torch.Tensor, number: int) -> torch.Tensor:
    own = points[ptr[number] : ptr[number + 1]].double()
    return (own.unsqueeze(1) - own.unsqueeze(0)).norm(dim=2)


def test_every_level_is_what_brute_force_gives() -> None:
    points, ptr = sets(60, 40)
    k, side = 12, 1.5
    spacing = [float(own_distances(points, ptr, s).sort(1).values[:, 8].median()) for s in range(2)]
    assert measure_spacing(points, ptr).tolist() == pytest.approx(spacing)
    levels = build_levels(points, ptr, 3, k, side)
    assert len(levels) == 3
    assert torch.equal(levels[0].points, points)
    for number, level in enumerate(levels):
        assert len(level.points) == int(level.ptr[-1])
        for one in range(2):
            begin, end = level.ptr[one], level.ptr[one + 1]
            found, distance = level.neighbours[begin:end], own_distances(level.points, level.ptr, one)
            n = len(distance)
            assert torch.equal(found[:, 0], torch.arange(int(begin), int(end)))
            nearest = distance.argsort(1)[:, :k] + begin
            assert torch.equal(found[:, : min(k, n)].sort(1).values, nearest.sort(1).values)
            assert (found[:, n:] == found[:, :1]).all()  # small sets repeat the point itself
            radius = distance.sort(1).values[:, min(k, n) - 1]
            radius = torch.where(radius > 0, radius, torch.ones_like(radius))
            torch.testing.assert_close(level.radius[begin:end].double(), radius, rtol=1e-5, atol=0)
            crowding = (radius / (spacing[one] * 2**number)).log().clamp(-LARGEST_RATIO, LARGEST_RATIO)
            torch.testing.assert_close(level.crowding[begin:end].double(), crowding, rtol=1e-4, atol=1e-5)
        if level.step is None:
            assert number == 2
            continue
        cubes = torch.tensor(spacing).double() * (side * 2.0**number)
        kept = thin_by_grid(level.points, cubes, ptr=level.ptr)
        assert torch.equal(level.step.kept, kept.kept)
        assert torch.equal(levels[number + 1].points, level.points[kept.kept])
        assert torch.equal(level.step.cells, kept.cell[level.neighbours[:, :SPREAD]])
        torch.testing.assert_close(level.step.shares.sum(1), torch.ones(len(level.points)))
        way = (level.points[kept.kept[level.step.cells]] - level.points.unsqueeze(1)) / level.radius.view(-1, 1, 1)
        weight = 1 / (way.square().sum(2) + 1e-4)
        torch.testing.assert_close(level.step.shares, weight / weight.sum(1, keepdim=True))


def test_offsets_point_to_the_neighbours() -> None:
    level = build_levels(*sets(30), 1, 5, 1.5)[0]
    offsets = level.offsets(torch.tensor([3, 17]))
    for row, found in zip((3, 17), offsets, strict=True):
        for neighbour, offset in zip(level.neighbours[row], found, strict=True):
            way = (level.points[neighbour] - level.points[row]) / level.radius[row]
            torch.testing.assert_close(offset, torch.cat([way, level.crowding[row : row + 1]]))
    torch.testing.assert_close(offsets[:, :, :3].norm(dim=2).amax(1), torch.ones(2))
    assert torch.equal(level.all_offsets[[3, 17]], offsets)
    assert torch.equal(level.offsets(slice(2, 9)), level.all_offsets[2:9])


def test_offsets_tell_how_normals_lie() -> None:
    points, ptr = sets(30)
    normals = torch.nn.functional.normalize(torch.randn(30, 3, generator=torch.Generator().manual_seed(1)), dim=1)
    normals[4] = 0  # unknown
    fine, coarse = build_levels(points, ptr, 2, 5, 1.5, normals=normals)
    assert torch.equal(coarse.normals, normals[fine.step.kept])
    for level in (fine, coarse):
        offsets = level.offsets(slice(None))
        assert offsets.shape == (len(level.points), 5, 7)
        for row, found in enumerate(offsets):
            for neighbour, offset in zip(level.neighbours[row], found, strict=True):
                way, one, other = offset[:3], level.normals[row], level.normals[neighbour]
                torch.testing.assert_close(offset[4:], torch.stack([one @ way, other @ way, one @ other]))
    turned = build_levels(points[:, [1, 2, 0]], ptr, 1, 5, 1.5, normals=normals[:, [1, 2, 0]])[0]
    torch.testing.assert_close(turned.all_offsets[:, :, 4:], fine.all_offsets[:, :, 4:])


@pytest.mark.parametrize("sizes", [(200,), (2,), (3,), (5,), (9,), (1, 4, 60)])
@pytest.mark.parametrize("neighbours", [4, 16])
def test_the_unit_of_length_does_not_matter(sizes: tuple[int, ...], neighbours: int) -> None:
    points, ptr = sets(*sizes, dtype=torch.float64)
    for one, other in zip(
        build_levels(points, ptr, 3, neighbours, 1.5),
        build_levels(points * 1024, ptr, 3, neighbours, 1.5),
        strict=True,
    ):
        assert torch.equal(one.neighbours, other.neighbours)
        apart = one.neighbours[:, 0] != one.neighbours[:, -1]  # the radius of a single point is 1 in any unit
        torch.testing.assert_close(one.crowding[apart], other.crowding[apart])
        assert torch.equal(one.points * 1024, other.points)


def test_copies_of_one_point_do_not_hide_how_far_apart_the_others_are() -> None:
    """Clouds are often filled up to a size with copies of a point, which have a spacing of zero."""
    points, _ = sets(100)
    filled = torch.cat([points, points[:1].expand(300, 3)])
    ptr = torch.tensor([0, 400])
    spacing = float(measure_spacing(filled, ptr))
    assert 0.5 < spacing / float(measure_spacing(points, torch.tensor([0, 100]))) < 2
    sizes = [len(level.points) for level in build_levels(filled, ptr, 3, 16, 1.5)]
    assert sizes == [len(level.points) for level in build_levels(filled * 1024, ptr, 3, 16, 1.5)]
    assert sizes[1] > 10


def test_the_measured_spacing_changes_nothing_if_it_is_given() -> None:
    points, ptr = sets(80, 50)
    for neighbours in (4, 16):
        measured = build_levels(points, ptr, 3, neighbours, 1.5)
        given = build_levels(points, ptr, 3, neighbours, 1.5, spacing=measure_spacing(points, ptr))
        for one, other in zip(measured, given, strict=True):
            assert torch.equal(one.crowding, other.crowding)
            assert torch.equal(one.points, other.points)


def test_a_spacing_that_makes_no_sense_is_refused() -> None:
    points, ptr = sets(8, 5)
    for spacing in (torch.ones(3), torch.ones(1), torch.tensor([1.0, -1.0]), torch.tensor([1.0, torch.nan])):
        with pytest.raises(ValueError, match=r"spacing: expected 2 numbers, 0 or more, one per set, got"):
            build_levels(points, ptr, 2, 4, 1.5, spacing=spacing)


def test_grids_move_in_training_and_only_then() -> None:
    points, ptr = sets(300)
    kept = [build_levels(points, ptr, 2, 4, 3.0, shift=shift)[1].points for shift in (False, False, True, True)]
    assert torch.equal(kept[0], kept[1])
    assert kept[2].tolist() != kept[3].tolist()


@pytest.mark.parametrize("points", [torch.ones(6, 3), torch.zeros(0, 3), torch.arange(6.0).view(6, 1).expand(6, 3)])
def test_odd_sets_have_levels_too(points: torch.Tensor) -> None:
    for level in build_levels(points, torch.tensor([0, 0, len(points)]), 4, 16, 1.5):
        assert level.all_offsets.isfinite().all()
        assert level.neighbours.shape == (len(level.points), 16)
        assert level.step is None or level.step.shares.isfinite().all()
    assert measure_spacing(torch.zeros(0, 3), torch.tensor([0, 0])).tolist() == [0]
    assert measure_spacing(torch.zeros(0, 3), torch.tensor([0])).tolist() == []
