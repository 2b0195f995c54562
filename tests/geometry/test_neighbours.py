import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sampled_transformer.geometry import nearest_neighbours, neighbours

SIZES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=5)


@pytest.fixture(params=["chunked", "tree"])
def path(request, monkeypatch):
    """Run both search methods for sets of any size."""
    limit = 10**9 if request.param == "chunked" else 0
    monkeypatch.setattr(neighbours, "TREE_POINTS", limit)
    monkeypatch.setattr(neighbours, "TREE_QUERIES", limit)
    return request.param


def reference(points: Tensor, queries: Tensor) -> Tensor:
    """All squared distances, in float64."""
    return (queries.double().unsqueeze(1) - points.double().unsqueeze(0)).square().sum(-1)


def check(points: Tensor, queries: Tensor, k: int, indices: Tensor, squared: Tensor) -> None:
    """One set: correct distances in increasing order, all points different; ties may be in any order."""
    distances = reference(points, queries)
    kept = min(k, len(points))
    assert indices.shape == squared.shape == (len(queries), k)
    assert (indices[:, kept:] == -1).all()
    assert squared[:, kept:].isinf().all()
    indices, squared = indices[:, :kept], squared[:, :kept]
    torch.testing.assert_close(squared, distances.sort(1).values[:, :kept], rtol=1e-12, atol=0)
    torch.testing.assert_close(squared, distances.gather(1, indices), rtol=1e-12, atol=0)
    assert all(len(set(row)) == kept for row in indices.tolist())


@settings(deadline=None, max_examples=60)
@given(SIZES, st.integers(1, 12), st.integers(1, 4), st.sampled_from([None, 3]), st.booleans(), st.integers(0, 1000))
def test_padded_and_packed_agree_with_the_reference(make_sets, sizes, k, dimension, grid, tree, seed):
    sets = make_sets([size for size, _ in sizes], dimension, seed, grid)
    asked = make_sets([size for _, size in sizes], dimension, seed + 1, grid, spare=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "TREE_POINTS", 0 if tree else 10**9)
        patch.setattr(neighbours, "TREE_QUERIES", 0)
        padded = nearest_neighbours(sets.padded, k, queries=asked.padded, mask=sets.mask, query_mask=asked.mask)
        packed = nearest_neighbours(sets.packed, k, queries=asked.packed, ptr=sets.ptr, query_ptr=asked.ptr)
    assert padded[0].shape == (*asked.mask.shape, k)
    assert (padded[0][~asked.mask] == -1).all()
    assert padded[1][~asked.mask].isinf().all()
    for number, (points, queries) in enumerate(zip(sets.each, asked.each, strict=True)):
        rank = torch.full(
            (sets.padded.shape[1] + 1,), -1
        )  # from padded slots back to the set; the last entry serves -1
        rank[sets.slots(number)] = torch.arange(len(points))
        slots = asked.slots(number)
        check(points, queries, k, rank[padded[0][number, slots]], padded[1][number, slots])
        rows = slice(int(asked.ptr[number]), int(asked.ptr[number + 1]))
        found = packed[0][rows]
        check(points, queries, k, torch.where(found < 0, -1, found - sets.ptr[number]), packed[1][rows])


@pytest.mark.parametrize("dimension", [1, 2, 3, 12])
def test_order_equals_brute_force(path, dimension):
    points = torch.randn(2, 300, dimension, generator=torch.Generator().manual_seed(3))
    queries = torch.randn(2, 40, dimension, generator=torch.Generator().manual_seed(4))
    indices, squared = nearest_neighbours(points, 9, queries=queries)
    assert squared.dtype == torch.float32
    for number in range(2):
        distances, order = reference(points[number], queries[number]).sort(1)
        assert torch.equal(indices[number], order[:, :9])
        torch.testing.assert_close(squared[number], distances[:, :9].float())


def test_near_points_far_from_the_origin(path):
    points = 1000 + 1e-2 * torch.rand(1, 200, 3, generator=torch.Generator().manual_seed(0))
    indices, squared = nearest_neighbours(points, 3)
    distances = reference(points[0], points[0])
    torch.testing.assert_close(squared[0].double(), distances.sort(1).values[:, :3], rtol=1e-6, atol=0)
    torch.testing.assert_close(squared[0].double(), distances.gather(1, indices[0]), rtol=1e-6, atol=0)


@pytest.mark.parametrize("k", [1, 3, 40])
def test_a_point_comes_first_among_those_that_coincide(path, k):
    points = torch.arange(10.0).repeat(3).view(1, 30, 1)
    indices, squared = nearest_neighbours(points, k)
    assert indices[0, :, 0].tolist() == list(range(30))
    check(points[0], points[0], k, indices[0], squared[0].double())


def test_a_point_comes_first_in_masked_and_packed_sets(path, make_sets):
    sets = make_sets([5, 0, 12, 1], grid=2, seed=1)
    padded, _ = nearest_neighbours(sets.padded, 4, mask=sets.mask)
    assert torch.equal(padded[..., 0][sets.mask], sets.mask.nonzero()[:, 1])
    packed, _ = nearest_neighbours(sets.packed, 4, ptr=sets.ptr)
    assert packed[:, 0].tolist() == list(range(18))


def test_the_chunk_does_not_matter(monkeypatch):
    points = torch.randn(5, 31, 3, generator=torch.Generator().manual_seed(0))
    queries = torch.randn(5, 17, 3, generator=torch.Generator().manual_seed(1))
    whole = nearest_neighbours(points, 4, queries=queries), nearest_neighbours(points, 4)
    for chunk in (1, 100, 31 * 17 * 2):
        monkeypatch.setattr(neighbours, "CPU_CHUNK", chunk)
        parts = nearest_neighbours(points, 4, queries=queries), nearest_neighbours(points, 4)
        for (indices, squared), (expected, distances) in zip(parts, whole, strict=True):
            assert torch.equal(indices, expected)
            assert torch.equal(squared, distances)


def test_sets_on_either_side_of_the_tree_limit_share_a_packed_batch(make_sets):
    sets = make_sets([700, 3, 0, 600, 90], seed=8)
    indices, squared = nearest_neighbours(sets.packed, 6, ptr=sets.ptr)
    for number, points in enumerate(sets.each):
        rows = slice(int(sets.ptr[number]), int(sets.ptr[number + 1]))
        found = torch.where(indices[rows] < 0, -1, indices[rows] - sets.ptr[number])
        check(points, points, 6, found, squared[rows])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_types(path, dtype):
    points = torch.randn(1, 80, 3, generator=torch.Generator().manual_seed(0)).to(dtype)
    indices, squared = nearest_neighbours(points, 5)
    assert indices.dtype == torch.int64
    assert squared.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    expected = reference(points[0], points[0]).sort(1).values[:, :5]
    torch.testing.assert_close(squared[0], expected.to(squared.dtype))


@pytest.mark.parametrize(
    ("points", "queries"), [((2, 0, 3), (2, 4, 3)), ((2, 4, 3), (2, 0, 3)), ((0, 4, 3), (0, 4, 3))]
)
def test_nothing_to_find(path, points, queries):
    indices, squared = nearest_neighbours(torch.zeros(points), 2, queries=torch.zeros(queries))
    assert indices.shape == squared.shape == (*queries[:2], 2)
    assert (indices == -1).all() or points[1]


def test_points_that_need_gradients(path):
    points = torch.randn(1, 20, 3, dtype=torch.float64, requires_grad=True)
    indices, squared = nearest_neighbours(points, 2)
    assert not indices.requires_grad
    assert not squared.requires_grad


def test_other_devices_never_reach_the_tree():
    indices, squared = nearest_neighbours(torch.empty(2, 1000, 3, device="meta"), 4)
    assert indices.device.type == squared.device.type == "meta"
    assert indices.shape == (2, 1000, 4)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("k: expected", {"k": 0}),
        ("points", {"points": torch.full((1, 4, 3), torch.nan)}),
        ("points", {"points": [[0.0]]}),
        ("queries", {"queries": torch.full((1, 4, 3), torch.inf)}),
        ("queries", {"queries": torch.zeros(2, 4, 3)}),
        ("queries", {"queries": torch.zeros(1, 4, 2)}),
        ("queries", {"queries": torch.zeros(4, 3)}),
        ("query_mask", {"query_mask": torch.ones(1, 4, dtype=torch.bool)}),
        ("query_mask", {"queries": torch.zeros(1, 5, 3), "query_mask": torch.ones(1, 4, dtype=torch.bool)}),
        ("query_ptr", {"query_ptr": torch.tensor([0, 4])}),
        ("query_ptr", {"points": torch.zeros(4, 3), "ptr": torch.tensor([0, 4]), "queries": torch.zeros(1, 4, 3)}),
        (
            "queries",
            {
                "points": torch.zeros(4, 3),
                "ptr": torch.tensor([0, 4]),
                "queries": torch.zeros(4, 3),
                "query_ptr": torch.tensor([0, 1, 4]),
            },
        ),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(ValueError, match=name):
        nearest_neighbours(**{"points": torch.zeros(1, 4, 3), "k": 2, **arguments})
