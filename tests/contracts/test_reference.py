"""Every mechanism equals its equation, forward and backward, in every layout of the sets."""

from __future__ import annotations

import pytest
import torch
from helpers.reference import reference

from sampled_transformer import Cycle, create_attention, key_by

DIM, HEADS = 8, 2

CONFIGURATIONS = {
    "none": ("none", {}),
    "dense": ("dense", {}),
    "dense-bias-head_dim": ("dense", {"bias": True, "head_dim": 3}),
    "sparse": ("sparse", {}),
    "sparse-no-scale": ("sparse", {"scale": 1.0}),
    "knn": ("knn", {"k": 3}),
    "knn-larger-than-the-set": ("knn", {"k": 50}),
    "knn-vector": ("knn", {"k": 3, "vector": True, "bias": True}),
    "induced": ("induced", {"inducing": 3}),
    "induced-sampled": ("induced", {"inducing": 3, "sampled": True, "summary_hidden": 5}),
    "stratified": ("stratified", {"window": 0.6}),
    "stratified-shifted": ("stratified", {"window": 0.6, "layer": 1}),
    "sampled": ("sampled", {}),
    "sampled-eq5-scale-bias": ("sampled", {"scale": 1.0, "bias": True}),
    "sampled-per-head": ("sampled", {"cycles": "per-head", "head_dim": 3}),
    "sampled-average": ("sampled", {"samples": 3, "layer": 2, "seed": 7}),
    "sampled-hamiltonian-subset": ("sampled", {"subset": 4}),
    "sampled-dense-2": ("sampled", {"inner": "dense", "subset": 2}),
    "sampled-dense-4": ("sampled", {"inner": "dense", "subset": 4}),
    "sampled-dense-4-per-head": ("sampled", {"inner": "dense", "subset": 4, "cycles": "per-head"}),
    "sampled-dense-whole": ("sampled", {"inner": "dense", "subset": 40}),
    "linear": ("linear", {"bias": True}),
    "rotary": ("rotary", {}),
    "rotary-high-bias": ("rotary", {"low": 3.0, "high": 30.0, "bias": True, "head_dim": 6}),
    "estimated-rounds-3": ("estimated", {"rounds": 3}),
    "estimated-rounds-beyond-the-set": ("estimated", {"rounds": 30, "samples": 2}),
    "estimated-consistent-1": ("estimated", {"estimator": "consistent"}),
    "estimated-consistent-4-per-head": ("estimated", {"estimator": "consistent", "rounds": 4, "cycles": "per-head"}),
    "estimated-rest-linear": ("estimated", {"rest": "linear"}),
    "estimated-rest-linear-3-per-head": ("estimated", {"rest": "linear", "rounds": 3, "cycles": "per-head"}),
    "summed-bias": ("summed", {"bias": True}),
    "summed": ("summed", {"head_dim": 3}),
    "sequential-2": ("sampled", {"composition": "sequential"}),
    "sequential-4": ("sampled", {"composition": "sequential", "subset": 4}),
    "sequential-dense-3": ("sampled", {"composition": "sequential", "inner": "dense", "subset": 3, "samples": 2}),
    "sequential-whole": ("sampled", {"composition": "sequential", "subset": 40}),
}

CYCLIC = [name for name, (kind, _) in CONFIGURATIONS.items() if kind in ("sampled", "estimated")]

MASK = torch.tensor(
    [[1, 1, 0, 1, 1, 1, 1, 0, 1, 1], [0, 1, 0, 0, 1, 0, 0, 0, 0, 0], [0] * 10, [0] * 9 + [1], [1] * 10]
).bool()

LAYOUTS = {
    "plain": ((2, 9), None, None),
    "plain-13": ((1, 13), None, None),
    "one-point": ((2, 1), None, None),
    "two-points": ((1, 2), None, None),
    "padded": ((5, 10), MASK, None),
    "packed": ((20,), None, torch.tensor([0, 8, 8, 9, 11, 20])),
}


def make(configuration: str, layout: str) -> tuple:
    torch.manual_seed(0)
    name, options = CONFIGURATIONS[configuration]
    shape, mask, ptr = LAYOUTS[layout]
    layer = key_by(create_attention(name, DIM, HEADS, **options).double().eval(), "places")  # as the loops draw
    x = torch.randn(*shape, DIM, dtype=torch.float64)
    positions = torch.rand(*shape, 3, dtype=torch.float64) * 2 - 1
    return layer, x, positions, mask, ptr


def compare(layer, x, positions, mask, ptr, cycle=None) -> None:
    """Output and every gradient, to 1e-10."""
    cotangent = torch.randn_like(x)
    results = []
    for function in (layer, lambda *a, **k: reference(layer, *a, **k)):
        inputs = [x.clone().requires_grad_(), positions.clone().requires_grad_()]
        y = function(*inputs, mask=mask, ptr=ptr, cycle=cycle)
        wanted = [*inputs, *layer.parameters()]
        loss = (y * cotangent).sum() + 0 * sum(w.sum() for w in wanted)
        results.append([y, *torch.autograd.grad(loss, wanted)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_equals_the_equation(configuration: str, layout: str) -> None:
    layer, x, positions, mask, ptr = make(configuration, layout)
    compare(layer, x, positions, mask, ptr)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "configuration", [name for name, (kind, _) in CONFIGURATIONS.items() if kind in ("sampled", "estimated")]
)
def test_walks_the_given_cycle(configuration: str, layout: str, shared: bool) -> None:
    layer, x, positions, mask, ptr = make(configuration, layout)
    heads = 1 if shared else layer.heads
    n = None if mask is not None or ptr is not None else x.shape[1]
    cycle = Cycle.sample(n, heads, torch.Generator().manual_seed(5), mask=mask, ptr=ptr)
    if getattr(layer, "composition", "") == "sequential" and heads > 1:
        with pytest.raises(ValueError, match="cycle:"):
            layer(x, mask=mask, ptr=ptr, cycle=cycle)
    else:
        compare(layer.train(), x, positions, mask, ptr, cycle)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_plain_padded_and_packed_agree(configuration: str) -> None:
    layer, x, positions, _, _ = make(configuration, "plain")
    batch, n, _ = x.shape
    expected = layer(x, positions)
    packed = layer(x.flatten(0, 1), positions.flatten(0, 1), ptr=torch.arange(batch + 1) * n)
    torch.testing.assert_close(packed.view_as(x), expected, rtol=0, atol=1e-12)
    wide = torch.full((batch, n + 3, DIM), torch.nan, dtype=x.dtype)  # padding may hold anything, even NaN
    where = torch.full((batch, n + 3, 3), torch.inf, dtype=x.dtype)
    mask = torch.ones(batch, n + 3, dtype=torch.bool)
    mask[:, [0, 4, 7]] = False
    wide[mask], where[mask] = x.flatten(0, 1), positions.flatten(0, 1)
    padded = layer(wide, where, mask)
    torch.testing.assert_close(padded[mask].view_as(x), expected, rtol=0, atol=1e-12)
    assert (padded[~mask] == 0).all()
