from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sampled_transformer.geometry import space_filling_order
from sampled_transformer.geometry.curves import curve_codes

CURVES = ["morton", "hilbert"]


def grid(dimension: int, side: int) -> Tensor:
    """Every cell of a cube, in random order."""
    axes = torch.meshgrid(*[torch.arange(float(side))] * dimension, indexing="ij")
    cells = torch.stack(axes, -1).view(-1, dimension)
    return cells[torch.randperm(len(cells), generator=torch.Generator().manual_seed(0))]


def morton(cell: list[float], bits: int) -> int:
    return int("".join(str(int(value) >> bit & 1) for bit in reversed(range(bits)) for value in cell), 2)


@pytest.mark.parametrize(("dimension", "bits"), [(1, 4), (2, 1), (2, 5), (3, 3), (4, 2)])
def test_hilbert_visits_neighbouring_cells(dimension, bits):
    cells = grid(dimension, 2**bits)
    walk = cells[space_filling_order(cells.unsqueeze(0), "hilbert", bits=bits)[0]]
    assert len({tuple(cell) for cell in walk.tolist()}) == len(cells)
    assert (walk.diff(dim=0).abs().sum(1) == 1).all()


@pytest.mark.parametrize(("dimension", "bits"), [(1, 4), (2, 4), (3, 3), (4, 2)])
def test_morton_interleaves_bits(dimension, bits):
    cells = grid(dimension, 2**bits)
    walk = cells[space_filling_order(cells.unsqueeze(0), "morton", bits=bits)[0]]
    assert [morton(cell, bits) for cell in walk.tolist()] == list(range(len(cells)))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=5),
    st.integers(1, 4),
    st.sampled_from(CURVES),
    st.sampled_from([None, 3]),
    st.integers(0, 1000),
)
def test_padded_packed_and_single_sets_agree(make_sets, sizes, dimension, curve, grid, seed):
    sets = make_sets(sizes, dimension, seed, grid)
    padded = space_filling_order(sets.padded, curve, mask=sets.mask)
    packed = space_filling_order(sets.packed, curve, ptr=sets.ptr)
    assert padded.shape == sets.mask.shape
    for number, points in enumerate(sets.each):
        alone = space_filling_order(points.unsqueeze(0), curve)[0]
        assert sorted(alone.tolist()) == list(range(len(points)))
        tail = [-1] * (padded.shape[1] - len(points))
        assert padded[number].tolist() == sets.slots(number)[alone].tolist() + tail
        assert torch.equal(packed[sets.ptr[number] : sets.ptr[number + 1]], alone + sets.ptr[number])


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("bits", [10, 20])
def test_the_walk_depends_on_neither_order_nor_scale_nor_place(curve, bits):
    points = torch.randn(1, 200, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    walk = points[0, space_filling_order(points, curve, bits=bits)[0]]
    shuffled = points[:, torch.randperm(200, generator=torch.Generator().manual_seed(1))]
    moved = shuffled * 4 + 8
    assert torch.equal(shuffled[0, space_filling_order(shuffled, curve, bits=bits)[0]], walk)
    assert torch.equal(shuffled[0, space_filling_order(moved, curve, bits=bits)[0]], walk)


@pytest.mark.parametrize("curve", CURVES)
def test_points_of_one_cell_keep_their_order(curve):
    assert space_filling_order(torch.ones(1, 5, 3), curve).tolist() == [[0, 1, 2, 3, 4]]


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize("shape", [(0, 3, 2), (2, 0, 2), (2, 1, 2)])
def test_small_sets(curve, shape):
    assert torch.equal(space_filling_order(torch.zeros(shape), curve), torch.arange(shape[1]).expand(shape[:2]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_types(dtype):
    points = torch.randn(2, 64, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    assert torch.equal(space_filling_order(points, "hilbert"), space_filling_order(points.double(), "hilbert"))


def test_other_devices():
    assert space_filling_order(torch.empty(2, 50, 3, device="meta"), "hilbert").device.type == "meta"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("curve", {"curve": "peano"}),
        ("bits", {"bits": 0}),
        ("bits", {"bits": 21}),
        ("points", {"points": torch.full((1, 4, 3), torch.nan)}),
        ("points", {"points": torch.zeros(4, 3)}),
        ("mask", {"mask": torch.ones(1, 3, dtype=torch.bool)}),
        ("ptr", {"points": torch.zeros(4, 3), "ptr": torch.tensor([0, 9])}),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(ValueError, match=name):
        space_filling_order(**{"points": torch.zeros(1, 4, 3), **arguments})


@pytest.mark.parametrize("curve", CURVES)
def test_codes_of_pieces_sort_as_the_whole(curve: Literal["morton", "hilbert"]) -> None:
    points = torch.randn(200, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    low, side = points.amin(0), (points.amax(0) - points.amin(0)).max()
    codes = torch.cat([curve_codes(some, low, side, curve, bits=20) for some in points.split(70)])
    expected = space_filling_order(points, curve, bits=20, ptr=[0, 200])
    assert torch.equal(codes.argsort(stable=True), expected)
