import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sampled_transformer.geometry import farthest, farthest_points

SIZES = st.lists(st.integers(0, 9), min_size=1, max_size=5)


def reference(points: Tensor, count: int, start: int = 0) -> list[int]:
    rows = points.tolist()
    chosen = [start] if rows else []
    while len(chosen) < min(count, len(rows)):
        free = [index for index in range(len(rows)) if index not in chosen]
        nearest = {
            i: min(sum((a - b) ** 2 for a, b in zip(rows[i], rows[j], strict=True)) for j in chosen) for i in free
        }
        chosen.append(max(free, key=lambda index: nearest[index]))  # of equals, max returns the lowest index
    return chosen


@settings(deadline=None, max_examples=60)
@given(SIZES, st.integers(1, 12), st.integers(1, 4), st.sampled_from([None, 3]), st.booleans(), st.integers(0, 1000))
def test_padded_packed_and_reference_agree(make_sets, sizes, count, dimension, grid, large, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(farthest, "LARGE", 0 if large else 10**9)
        patch.setattr(farthest, "LARGE_COUNT", 0)
        check_every_form(make_sets, sizes, count, dimension, grid, seed)


def check_every_form(make_sets, sizes, count, dimension, grid, seed):
    sets = make_sets(sizes, dimension, seed, grid)
    expected = [reference(points, count) for points in sets.each]
    padded = farthest_points(sets.padded, count, mask=sets.mask)
    assert padded.shape == (len(sizes), min(count, sets.padded.shape[1]))
    for number, indices in enumerate(expected):
        tail = [-1] * (padded.shape[1] - len(indices))
        assert padded[number].tolist() == sets.slots(number)[indices].tolist() + tail
    packed, ptr = farthest_points(sets.packed, count, ptr=sets.ptr)
    assert ptr.diff().tolist() == [len(indices) for indices in expected]
    begin = sets.ptr.tolist()
    assert packed.tolist() == [begin[i] + index for i, indices in enumerate(expected) for index in indices]
    for points, indices in zip(sets.each, expected, strict=True):
        assert farthest_points(points.unsqueeze(0), count).tolist() == [indices]


@pytest.mark.parametrize(("n", "count"), [(500, 40), (16384, 300)])
def test_equals_the_plain_loop_on_many_points(n, count):
    points = torch.randn(2, n, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for cloud, chosen in zip(points, farthest_points(points, count, start=7), strict=True):
        nearest, latest, expected = torch.full((n,), torch.inf, dtype=torch.float64), 7, []
        for _ in range(count):
            expected.append(latest)
            nearest = torch.minimum(nearest, ((cloud - cloud[latest]) ** 2).sum(-1))
            latest = int(nearest.argmax())
        assert chosen.tolist() == expected


@pytest.mark.parametrize("large", [False, True])
def test_start_counts_real_points_and_may_differ_between_sets(make_sets, monkeypatch, large):
    monkeypatch.setattr(farthest, "LARGE", 0 if large else 10**9)
    monkeypatch.setattr(farthest, "LARGE_COUNT", 0)
    sets = make_sets([4, 7, 2], seed=5)
    start = torch.tensor([3, 0, 1])
    padded = farthest_points(sets.padded, 3, start=start, mask=sets.mask)
    packed, ptr = farthest_points(sets.packed, 3, start=start, ptr=sets.ptr)
    for number, points in enumerate(sets.each):
        expected = reference(points, 3, int(start[number]))
        assert padded[number, : len(expected)].tolist() == sets.slots(number)[expected].tolist()
        assert (packed[ptr[number] : ptr[number + 1]] - sets.ptr[number]).tolist() == expected


def test_each_packed_set_may_have_its_own_count(make_sets):
    sets = make_sets([9, 0, 5, 40], seed=2)
    indices, ptr = farthest_points(sets.packed, torch.tensor([2, 3, 9, 20]), ptr=sets.ptr)
    assert ptr.tolist() == [0, 2, 2, 7, 27]
    for number, (points, count) in enumerate(zip(sets.each, (2, 3, 9, 20), strict=True)):
        assert (indices[ptr[number] : ptr[number + 1]] - sets.ptr[number]).tolist() == reference(points, count)


def test_coinciding_points_are_each_chosen_once():
    assert farthest_points(torch.ones(1, 5, 3), 5).tolist() == [[0, 1, 2, 3, 4]]


def test_asking_for_more_gives_every_point():
    chosen = farthest_points(torch.randn(2, 6, 3), 99)
    assert chosen.sort().values.tolist() == [list(range(6))] * 2


@pytest.mark.parametrize("shape", [(0, 5, 3), (2, 0, 3)])
def test_nothing_to_choose_from(shape):
    assert farthest_points(torch.empty(shape), 4).shape == (shape[0], min(4, shape[1]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("large", [False, True])
def test_low_precision_points(monkeypatch, dtype, large):
    monkeypatch.setattr(farthest, "LARGE", 0 if large else 10**9)
    monkeypatch.setattr(farthest, "LARGE_COUNT", 0)
    points = torch.randint(0, 64, (2, 50, 3), generator=torch.Generator().manual_seed(0)).to(dtype)
    assert torch.equal(farthest_points(points, 10), farthest_points(points.double(), 10))


def test_points_that_need_gradients_are_left_alone():
    points = torch.randn(1, 8, 3, requires_grad=True)
    before = points.detach().clone()
    assert not farthest_points(points, 3).requires_grad
    assert torch.equal(points, before)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("points", {"points": torch.zeros(4, 3)}),
        ("points", {"points": torch.zeros(1, 4, 3, dtype=torch.int64)}),
        ("points", {"points": torch.zeros(1, 4, 0)}),
        ("points", {"points": torch.tensor([[[0.0], [torch.nan]]])}),
        ("points", {"points": torch.tensor([[[0.0], [torch.inf]]])}),
        ("points", {"points": torch.zeros(1, 4, 3), "ptr": torch.tensor([0, 4])}),
        ("count", {"count": 0}),
        ("count", {"count": torch.tensor([1])}),
        ("count", {"points": torch.zeros(4, 3), "ptr": torch.tensor([0, 4]), "count": torch.tensor([0])}),
        ("count", {"points": torch.zeros(4, 3), "ptr": torch.tensor([0, 4]), "count": torch.tensor([1, 2])}),
        ("start", {"start": 4}),
        ("start", {"start": -1}),
        ("start", {"start": torch.tensor([0, 0])}),
        ("start", {"mask": torch.tensor([[True, False, False, True]]), "start": 2}),
        ("mask", {"mask": torch.ones(1, 3, dtype=torch.bool)}),
        ("mask", {"mask": torch.ones(1, 4)}),
        ("mask", {"mask": [[True] * 4]}),
        ("mask", {"mask": torch.ones(1, 4, dtype=torch.bool, device="meta")}),
        ("mask", {"points": torch.zeros(4, 3), "mask": torch.ones(4, dtype=torch.bool), "ptr": torch.tensor([0, 4])}),
        ("ptr", {"points": torch.zeros(4, 3), "ptr": torch.tensor([0, 3])}),
        ("ptr", {"points": torch.zeros(4, 3), "ptr": torch.tensor([0, 3, 2, 4])}),
        ("ptr", {"points": torch.zeros(4, 3), "ptr": torch.tensor([1, 4])}),
        ("ptr", {"points": torch.zeros(4, 3), "ptr": torch.tensor([0, 4], device="meta")}),
        ("ptr", {"points": torch.zeros(4, 3), "ptr": torch.tensor([0.0, 4.0])}),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(ValueError, match=name):
        farthest_points(**{"points": torch.zeros(1, 4, 3), "count": 2, **arguments})


@pytest.mark.parametrize("parts", [3, 6, 100])
def test_the_loop_the_blocks_and_an_exported_graph_agree_where_rounding_decides(parts, monkeypatch):
    """Thirds have distances that would be equal but for rounding, which a fused multiplication does not do."""
    points = (torch.rand(2, 500, 3, generator=torch.Generator().manual_seed(0)) * 2 - 1).mul(parts).round() / parts
    expected = farthest_points(points, 120)

    class Choose(torch.nn.Module):
        def forward(self, points: Tensor) -> Tensor:
            return farthest_points(points, 120)

    with torch.no_grad():
        program = torch.export.export(Choose(), (points,), strict=False)
        assert torch.equal(program.module()(points), expected)
    monkeypatch.setattr(farthest, "LARGE", 0)
    monkeypatch.setattr(farthest, "LARGE_COUNT", 0)
    assert torch.equal(farthest_points(points, 120), expected)
