"""Cross-attention: every mechanism reads another set as its equation says, in every layout, or refuses in one line."""

from __future__ import annotations

import pytest
import torch
from helpers.reference import reference_across
from helpers.variants import DIM, VARIANTS, build, cloud

from sampled_transformer import create_attention, key_by, list_attention
from sampled_transformer.attention.across import TAKES_CONTEXT

TAKING = [name for name in VARIANTS if build(name).takes_context]
REFUSING = [name for name in VARIANTS if name not in TAKING]

CONFIGURATIONS = {
    "dense": ("dense", {"bias": True}),
    "linear": ("linear", {"bias": True}),
    "rotary": ("rotary", {}),
    "summed": ("summed", {"bias": True}),
    "induced": ("induced", {"inducing": 3, "bias": True}),
    "induced-sampled": ("induced", {"inducing": 3, "sampled": True}),
    "knn": ("knn", {"k": 3}),
    "knn-large": ("knn", {"k": 50}),
    "knn-vector": ("knn", {"k": 3, "vector": True}),
    "sampled": ("sampled", {"bias": True}),
    "sampled-average": ("sampled", {"samples": 3, "layer": 2, "seed": 7}),
}
MASK = torch.tensor([[1, 1, 0, 1, 1, 1], [0, 1, 0, 0, 1, 0], [0] * 6, [1] * 6, [0] * 5 + [1]]).bool()
CONTEXT_MASK = torch.tensor([[0, 1, 1, 1, 1, 1, 0, 1], [1] * 8, [1] * 8, [0] * 8, [0, 0, 1, 0, 0, 0, 0, 0]]).bool()
LAYOUTS = {  # shapes of x and of the context, and how they fall into sets
    "plain": ((2, 5), (2, 9), {}),
    "one-point": ((2, 4), (2, 1), {}),
    "no-point": ((2, 4), (2, 0), {}),
    "padded": ((5, 6), (5, 8), {"mask": MASK, "context_mask": CONTEXT_MASK}),
    "padded-context": ((5, 6), (5, 8), {"context_mask": CONTEXT_MASK}),
    "padded-queries": ((5, 6), (5, 8), {"mask": MASK}),
    "packed": (
        (12,),
        (17,),
        {"ptr": torch.tensor([0, 4, 4, 5, 9, 12]), "context_ptr": torch.tensor([0, 6, 8, 17, 17, 17])},
    ),
}


def two_sets(shape: tuple, other: tuple, dtype=torch.float32) -> tuple[torch.Tensor, ...]:
    return *cloud(*shape, dtype=dtype), *cloud(*other, dtype=dtype, seed=2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_equals_the_equation(configuration: str, layout: str) -> None:
    torch.manual_seed(0)
    name, options = CONFIGURATIONS[configuration]
    layer = key_by(create_attention(name, DIM, 4, **options).double().eval(), "places")
    shape, other, sets = LAYOUTS[layout]
    inputs = [tensor.requires_grad_() for tensor in two_sets(shape, other, torch.float64)]
    x, positions, context, there = inputs
    ours = layer(x, positions, context=context, context_positions=there, **sets)
    theirs = reference_across(layer, x, positions, context, there, **sets)
    cotangent = torch.randn_like(x)
    wanted = [*inputs, *layer.parameters()]
    results = []
    for y in (ours, theirs):
        loss = (y * cotangent).sum() + 0 * sum(tensor.sum() for tensor in wanted)
        results.append([y, *torch.autograd.grad(loss, wanted)])
    for one, two in zip(*results, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-10)


@pytest.mark.parametrize("variant", TAKING)
def test_plain_padded_packed_and_one_by_one_agree(variant: str) -> None:
    layer = build(variant).eval()
    x, positions, context, there = two_sets((3, 6), (3, 9))
    mask = torch.arange(6) < torch.tensor([6, 2, 3])[:, None]
    other = torch.arange(9) < torch.tensor([1, 9, 5])[:, None]
    for content in (x, positions):
        content[~mask] = torch.inf
    for content in (context, there):
        content[~other] = torch.nan
    padded = layer(x, positions, mask, context=context, context_positions=there, context_mask=other)
    assert (padded[~mask] == 0).all()
    packed = layer(
        x[mask],
        positions[mask],
        ptr=torch.tensor([0, 6, 8, 11]),
        context=context[other],
        context_positions=there[other],
        context_ptr=torch.tensor([0, 1, 10, 15]),
    )
    torch.testing.assert_close(packed, padded[mask], rtol=1e-5, atol=1e-6)
    for i in range(3):
        read = {"context": context[i : i + 1, other[i]], "context_positions": there[i : i + 1, other[i]]}
        alone = layer(x[i : i + 1, mask[i]], positions[i : i + 1, mask[i]], **read)
        torch.testing.assert_close(padded[i, mask[i]], alone[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variant", TAKING)
@pytest.mark.parametrize("training", [True, False])
def test_an_empty_context_gives_zeros_and_gradients(variant: str, training: bool) -> None:
    layer = build(variant, bias=True).train(training)
    x, positions, context, there = two_sets((2, 4), (2, 5))
    x.requires_grad_()
    context.requires_grad_()
    mask = torch.tensor([[False] * 5, [True] * 5])
    y = layer(x, positions, context=context, context_positions=there, context_mask=mask)
    assert (y[0] == 0).all()
    assert y[1].any()
    y.square().sum().backward()
    for tensor in (x, context, *layer.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
    y = layer(x, positions, context=context[:, :0], context_positions=there[:, :0])
    assert (y == 0).all()
    layer.zero_grad()
    y.sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())
    y = layer(x[:, :0], positions[:, :0], context=context, context_positions=there)
    assert y.shape == (2, 0, DIM)
    packed = layer(
        x[0],
        positions[0],
        ptr=torch.tensor([0, 4, 4]),
        context=context[0],
        context_positions=there[0],
        context_ptr=torch.tensor([0, 0, 5]),
    )
    assert (packed == 0).all()


@pytest.mark.parametrize("variant", TAKING)
@pytest.mark.parametrize("keyed_by", ["points", "places"])
def test_the_order_of_the_context_matters_only_by_chance_of_places(variant: str, keyed_by: str) -> None:
    layer = key_by(build(variant).eval(), keyed_by)
    x, positions, context, there = two_sets((2, 4), (2, 9))
    turned = torch.randperm(9)
    one = layer(x, positions, context=context, context_positions=there)
    two = layer(x, positions, context=context[:, turned], context_positions=there[:, turned])
    same = torch.allclose(one, two, atol=1e-5)
    assert same == (not layer.is_random or keyed_by == "points")


def test_the_list_of_mechanisms_that_take_a_context_is_true() -> None:
    assert [name for name in list_attention() if build(name).takes_context] == list(TAKES_CONTEXT)


@pytest.mark.parametrize("variant", REFUSING)
def test_the_others_refuse_in_one_line(variant: str) -> None:
    x, positions, context, there = two_sets((2, 4), (2, 5))
    with pytest.raises(ValueError, match=r"^context: expected one of dense, .*summed, got \w+Attention: [^\n]+$"):
        build(variant)(x, positions, context=context, context_positions=there)


@pytest.mark.parametrize("variant", ["dense", "sampled", "rotary"])
def test_compiles_with_any_number_of_points(variant: str) -> None:
    torch.compiler.reset()
    layer = build(variant).eval()
    compiled = torch.compile(layer, dynamic=True, backend="eager")
    for m, n in ((5, 9), (7, 12), (8, 20)):
        x, positions, context, there = two_sets((2, m), (2, n))
        expected = layer(x, positions, context=context, context_positions=there)
        got = compiled(x, positions, context=context, context_positions=there)
        torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
    torch.compiler.reset()


@pytest.mark.parametrize("variant", ["dense", "linear", "sampled", "induced"])
def test_exports_with_any_number_of_points(variant: str) -> None:
    layer = build(variant).eval()
    batch = torch.export.Dim("batch", min=1, max=64)
    m, n = (torch.export.Dim(name, min=2, max=1 << 20) for name in ("m", "n"))
    shapes = {"x": {0: batch, 1: m}, "context": {0: batch, 1: n}}
    given = {"context": cloud(2, 7)[0]}
    program = torch.export.export(layer, (cloud(2, 12)[0],), given, dynamic_shapes=shapes).module()
    for sets, queries, points in ((1, 2, 9), (3, 17, 4)):
        x, context = cloud(sets, queries)[0], cloud(sets, points, seed=2)[0]
        torch.testing.assert_close(program(x, context=context), layer(x, context=context), rtol=1e-5, atol=1e-6)
