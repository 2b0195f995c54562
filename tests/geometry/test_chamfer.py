import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from sampled_transformer.geometry import chamfer_distance, neighbours

SIZES = st.lists(st.tuples(st.integers(1, 8), st.integers(1, 8)), min_size=1, max_size=4)


def reference(first: Tensor, second: Tensor, norm: str) -> Tensor:
    """The distance of one pair of sets from all pairwise distances; differentiable except at zero."""
    distances = torch.cdist(first, second, compute_mode="donot_use_mm_for_euclid_dist")
    if norm == "l2":
        distances = distances.square()
    total = distances.min(1).values.mean() + distances.min(0).values.mean()
    return total if norm == "l2" else total / 2


@settings(deadline=None, max_examples=40)
@given(SIZES, st.integers(1, 4), st.sampled_from(["l2", "l1"]), st.booleans(), st.integers(0, 1000))
def test_values_and_gradients_equal_the_reference_in_every_form(make_sets, sizes, dimension, norm, tree, seed):
    first = make_sets([size for size, _ in sizes], dimension, seed)
    second = make_sets([size for _, size in sizes], dimension, seed + 1, spare=1)
    a, b = first.packed.clone().requires_grad_(), second.packed.clone().requires_grad_()
    halves = [zip(x.split(y.ptr.diff().tolist()), strict=True) for x, y in ((a, first), (b, second))]
    expected = torch.stack([reference(x, y, norm) for (x,), (y,) in zip(*halves, strict=True)])
    weights = torch.arange(1.0, len(sizes) + 1, dtype=torch.float64)
    gradients = torch.autograd.grad((expected * weights).sum(), (a, b))
    padded = first.padded.clone().requires_grad_(), second.padded.clone().requires_grad_()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "TREE_POINTS", 0 if tree else 10**9)
        patch.setattr(neighbours, "TREE_QUERIES", 0)
        packed_value = chamfer_distance(a, b, norm=norm, first_ptr=first.ptr, second_ptr=second.ptr)
        padded_value = chamfer_distance(*padded, norm=norm, first_mask=first.mask, second_mask=second.mask)
    tight = {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(packed_value, expected, **tight)
    torch.testing.assert_close(padded_value, expected, **tight)
    packed_gradients = torch.autograd.grad((packed_value * weights).sum(), (a, b))
    padded_gradients = torch.autograd.grad((padded_value * weights).sum(), padded)
    for sets, wanted, packed, filled in zip(
        (first, second), gradients, packed_gradients, padded_gradients, strict=True
    ):
        torch.testing.assert_close(packed, wanted, **tight)
        torch.testing.assert_close(filled[sets.mask], wanted, **tight)
        assert (filled[~sets.mask] == 0).all()


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("sizes", [(30, 20), (700, 600)])
def test_unmasked_clouds(norm, sizes):
    generator = torch.Generator().manual_seed(0)
    first = torch.randn(2, sizes[0], 3, dtype=torch.float64, generator=generator, requires_grad=True)
    second = torch.randn(2, sizes[1], 3, dtype=torch.float64, generator=generator, requires_grad=True)
    value = chamfer_distance(first, second, norm=norm)
    expected = torch.stack([reference(x, y, norm) for x, y in zip(first, second, strict=True)])
    torch.testing.assert_close(value, expected, rtol=1e-10, atol=1e-10)
    pairs = zip(
        torch.autograd.grad(value.sum(), (first, second)),
        torch.autograd.grad(expected.sum(), (first, second)),
        strict=True,
    )
    for got, wanted in pairs:
        torch.testing.assert_close(got, wanted, rtol=1e-10, atol=1e-10)


def test_known_values():
    first, second = torch.tensor([[[0.0, 0.0], [3.0, 0.0]]]), torch.tensor([[[0.0, 4.0]]])
    assert chamfer_distance(first, second).tolist() == [(16 + 25) / 2 + 16]
    assert chamfer_distance(first, second, norm="l1").tolist() == [((4 + 5) / 2 + 4) / 2]


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_set_is_at_distance_zero_from_itself_with_gradient_zero(norm):
    points = torch.randn(2, 10, 3, requires_grad=True)
    value = chamfer_distance(points, points.detach().flip(1), norm=norm)
    value.sum().backward()
    assert value.tolist() == [0.0, 0.0]
    assert (points.grad == 0).all()


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("form", ["padded", "packed"])
def test_empty_sets(norm, form, make_sets):
    first, second = make_sets([0, 0, 3, 2]), make_sets([0, 2, 0, 2], seed=1)
    if form == "padded":
        a, b = first.padded.requires_grad_(), second.padded.requires_grad_()
        value = chamfer_distance(a, b, norm=norm, first_mask=first.mask, second_mask=second.mask)
    else:
        a, b = first.packed.requires_grad_(), second.packed.requires_grad_()
        value = chamfer_distance(a, b, norm=norm, first_ptr=first.ptr, second_ptr=second.ptr)
    assert value[:3].tolist() == [0.0, torch.inf, torch.inf]
    torch.testing.assert_close(value[3], reference(first.each[3], second.each[3], norm))
    for gradient in torch.autograd.grad(value.sum(), (a, b)):
        assert gradient.isfinite().all()


def test_no_points_and_no_sets():
    assert chamfer_distance(torch.zeros(2, 0, 3), torch.zeros(2, 0, 3)).tolist() == [0.0, 0.0]
    assert chamfer_distance(torch.zeros(2, 0, 3), torch.zeros(2, 5, 3)).tolist() == [torch.inf, torch.inf]
    assert chamfer_distance(torch.zeros(0, 4, 3), torch.zeros(0, 5, 3)).shape == (0,)
    empty = torch.tensor([0, 0])
    value = chamfer_distance(torch.zeros(0, 3), torch.ones(4, 3), first_ptr=empty, second_ptr=torch.tensor([0, 4]))
    assert value.tolist() == [torch.inf]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_types(dtype):
    first = torch.randn(2, 9, 3, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
    second = torch.randn(2, 7, 3, generator=torch.Generator().manual_seed(1)).to(dtype)
    value = chamfer_distance(first, second)
    assert value.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    expected = [reference(x.double(), y.double(), "l2") for x, y in zip(first, second, strict=True)]
    torch.testing.assert_close(value, torch.stack(expected).to(value.dtype))
    value.sum().backward()
    assert first.grad.dtype == dtype


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("norm", {"norm": "l3"}),
        ("first", {"first": torch.full((1, 4, 3), torch.nan)}),
        ("second", {"second": torch.full((1, 4, 3), torch.nan)}),
        ("second", {"second": torch.zeros(1, 4, 2)}),
        ("second", {"second": torch.zeros(2, 4, 3)}),
        ("first_mask", {"first_mask": torch.ones(1, 5, dtype=torch.bool)}),
        ("second_mask", {"second_mask": torch.ones(1, 4)}),
        ("first_ptr", {"first": torch.zeros(4, 3), "first_ptr": torch.tensor([0, 5])}),
        ("second_ptr", {"first": torch.zeros(4, 3), "first_ptr": torch.tensor([0, 4])}),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(ValueError, match=name):
        chamfer_distance(**{"first": torch.zeros(1, 4, 3), "second": torch.zeros(1, 4, 3), **arguments})
