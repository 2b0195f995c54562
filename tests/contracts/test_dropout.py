"""Attention dropout of every mechanism: off in evaluation, without a trace at 0, and right on average."""

from __future__ import annotations

import pytest
import torch
from helpers.variants import DIM, HEADS, VARIANTS, build, cloud

from sampled_transformer import Cycle, TransformerBlock, create_attention, create_model

DROPPING = [name for name in VARIANTS if name != "none"]
every = pytest.mark.parametrize("variant", DROPPING)


@every
def test_zero_changes_nothing_and_draws_nothing(variant: str) -> None:
    x, positions = cloud(2, 12)
    results = []
    for options in ({}, {"dropout": 0.0}):
        layer = build(variant, **options).train()
        torch.manual_seed(5)
        results.append((layer(x, positions), torch.rand(3)))
    assert all(torch.equal(one, two) for one, two in zip(*results, strict=True))


@every
def test_evaluation_drops_nothing(variant: str) -> None:
    x, positions = cloud(2, 12)
    one, two = build(variant).eval(), build(variant, dropout=0.5).eval()
    assert torch.equal(one(x, positions), two(x, positions))
    assert "dropout=0.5" in repr(two)


def fixed(variant: str, n: int, **options):
    """The layer, and a cycle for those that walk one, so that dropout alone is random."""
    layer = build(variant, **options).double()
    if getattr(layer, "order", "random") in ("morton", "hilbert") or variant == "summed-local":
        return layer, Cycle.sample(n, generator=torch.Generator().manual_seed(1))
    heads = HEADS if variant in ("sampled-per-head", "sampled-mixed", "estimated-consistent") else 1
    return layer, Cycle.sample(n, heads, torch.Generator().manual_seed(1))


# Sequential subsets read what the ones before wrote, through a softmax: their mean is another.
@pytest.mark.parametrize(
    "variant", [name for name in DROPPING if name not in ("sampled-sequential", "induced-sampled")]
)
def test_the_mean_is_the_output_without(variant: str) -> None:
    copies, n, p = 4000, 5, 0.3
    x, positions = cloud(1, n, dtype=torch.float64)
    layer, cycle = fixed(variant, n, dropout=p)
    expected = layer.eval()(x, positions, cycle=cycle)
    layer.train()
    torch.manual_seed(0)
    y = layer(x.expand(copies, -1, -1), positions.expand(copies, -1, -1), cycle=cycle)
    error = (y.mean(0) - expected[0]).abs() / (y.std(0) / copies**0.5 + 1e-12)
    assert y.std(0).max() > 0.01
    assert error.max() < 5, "standard errors"


@every
@pytest.mark.parametrize("layout", ["padded", "packed"])
def test_dropout_leaves_no_nan_and_keeps_sets_apart(variant: str, layout: str) -> None:
    layer = build(variant, dropout=0.5).train()
    x, positions = cloud(3, 9)
    x.requires_grad_()
    if layout == "padded":
        y = layer(x, positions, torch.arange(9) < torch.tensor([9, 0, 1])[:, None])
    else:
        y = layer(x.flatten(0, 1), positions.flatten(0, 1), ptr=torch.tensor([0, 9, 9, 10, 27]))
    y.square().sum().backward()
    assert y.isfinite().all()
    assert x.grad.isfinite().all()
    assert all(p.grad.isfinite().all() for p in layer.parameters())


def test_sampled_attention_drops_each_of_its_two_weights() -> None:
    """A single feature, identity projections: the output tells which of both was kept."""
    layer = create_attention("sampled", 2, 1, dropout=0.5, scale=0.0).train()
    with torch.no_grad():
        for part in (layer.query, layer.key, layer.value, layer.output):
            part.weight.copy_(torch.eye(2))
    x = torch.eye(2)[None].expand(500, -1, -1)  # two points: each reads itself and the other, 1/2 each
    seen = {tuple(row) for row in layer(x).flatten(0, 1).tolist()}
    assert seen == {(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)}


@pytest.mark.parametrize("variant", ["linear", "rotary", "summed"])
def test_sums_drop_whole_points(variant: str) -> None:
    layer = build(variant, dropout=0.5).train()
    x, positions = cloud(1, 12)
    _, pairs = layer(x, positions, need_weights=True)
    gone = pairs.dense()[0] == 0  # (heads, queries, keys)
    assert torch.equal(gone, gone[:, :1].expand_as(gone))
    assert gone.any()
    assert not gone.all()
    assert not torch.equal(gone[0], gone[1]), "every head by itself"


@pytest.mark.parametrize("variant", [name for name in DROPPING if build(name).takes_context])
def test_a_context_is_dropped_too(variant: str) -> None:
    layer = build(variant, dropout=0.5).train()
    (x, positions), (context, there) = cloud(1, 4), cloud(1, 1, seed=3)  # one point: nothing else is random
    calls = [layer(x, positions, context=context, context_positions=there) for _ in range(4)]
    assert any(not torch.equal(calls[0], other) for other in calls[1:])


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_a_share_is_checked(share: float) -> None:
    with pytest.raises(ValueError, match="dropout: expected a share from 0 to below 1, got"):
        create_attention("dense", DIM, HEADS, dropout=share)


def test_blocks_and_networks_hand_it_on() -> None:
    block = TransformerBlock(DIM, HEADS, "dense", dropout=0.1, attention_dropout=0.2)
    assert block.attention.dropout == 0.2
    assert block.dropout.p == 0.1
    options = {"attention_options": {"dropout": 0.25}}
    for name, own in {
        "basic": {"classes": 3, "dropout": 0.1},
        "hierarchical": {"classes": 3},
        "mae": {},
        "mae-classifier": {"classes": 3},
        "set-transformer": {"classes": 3, "attention": "sampled"},
        "set-transformer-mixture": {"attention": "sampled"},
    }.items():
        network = create_model(name, **own, **options)
        layers = [module for module in network.modules() if hasattr(module, "dropping")]
        given = [layer.dropout for layer in layers]
        assert 0.25 in given, name
    with pytest.raises(ValueError, match=r"expected an option of induced attention .* got 'dropout'"):
        create_model("set-transformer", classes=3, **options)
