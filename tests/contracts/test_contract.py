"""What every mechanism promises, whatever it computes; parametrised over the registry."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from helpers.variants import DIM, HEADS, RANDOM, SHARED, VARIANTS, build, cloud

from sampled_transformer import Cycle, create_attention, list_attention, number_layers
from sampled_transformer.sets import Sets

every = pytest.mark.parametrize("variant", VARIANTS)


@every
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 33])
def test_shapes_and_gradients(variant: str, n: int, training: bool) -> None:
    layer = build(variant).train(training)
    x, positions = cloud(2, n)
    x.requires_grad_()
    y = layer(x, positions)
    assert y.shape == x.shape
    assert y.dtype == x.dtype
    assert y.isfinite().all()
    (x + y).square().sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    if n > 3:  # three points may each be alone in their windows
        for name, parameter in layer.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.any(), name


@every
def test_an_empty_batch_still_reaches_every_parameter(variant: str) -> None:
    """Otherwise a process of DDP that gets an empty batch would leave the others waiting."""
    layer = build(variant)
    y = layer(*cloud(2, 0))
    if list(layer.parameters()):
        y.sum().backward()
    assert all(parameter.grad is not None for parameter in layer.parameters())


@every
def test_no_sets_at_all(variant: str) -> None:
    layer = build(variant)
    assert layer(*cloud(0, 5)).shape == (0, 5, DIM)
    x, positions = cloud(0)
    for ptr in ([0], [0, 0, 0]):
        assert layer(x, positions, ptr=torch.tensor(ptr)).shape == (0, DIM)


@every
@pytest.mark.parametrize("training", [True, False])
def test_empty_and_tiny_sets_among_others_give_no_nan(variant: str, training: bool) -> None:
    layer = build(variant).train(training)
    mask = torch.arange(9) < torch.tensor([0, 1, 2, 9])[:, None]
    x, positions = cloud(4, 9)
    x.requires_grad_()
    y = layer(x, positions, mask)
    assert y.isfinite().all()
    assert (y[~mask] == 0).all()
    y.square().sum().backward() if y.requires_grad else None
    assert x.grad is None or x.grad.isfinite().all()
    assert all(p.grad is None or p.grad.isfinite().all() for p in layer.parameters())
    x, positions = cloud(12)
    assert layer(x, positions, ptr=torch.tensor([0, 0, 1, 3, 12, 12])).isfinite().all()


@every
def test_precisions_agree(variant: str) -> None:
    layer = build(variant).eval()
    x, positions = cloud(2, 24, dtype=torch.float64)
    # Positions that bfloat16 represents exactly: neighbours and windows must not depend on the precision.
    positions = positions.bfloat16().double()
    exact = copy.deepcopy(layer).double()(x, positions)
    for dtype, tolerance in ((torch.float32, 2e-6), (torch.bfloat16, 4e-2)):
        y = copy.deepcopy(layer).to(dtype)(x.to(dtype), positions.to(dtype))
        assert y.dtype == dtype
        torch.testing.assert_close(y.double(), exact, rtol=0, atol=tolerance)


@every
def test_runs_under_autocast(variant: str) -> None:
    layer = build(variant)
    x, positions = cloud(2, 24)
    with torch.autocast("cpu", torch.bfloat16):
        y = layer(x, positions)
    (x + y.float()).sum().backward() if y.requires_grad else None
    assert y.isfinite().all()


@pytest.mark.parametrize("variant", ["linear", "rotary", "summed"])
def test_sums_over_the_set_are_not_narrowed_by_autocast(variant: str) -> None:
    layer = build(variant)
    _, positions = cloud(2, 24)
    parts = torch.randn(3, 2, 24, HEADS, DIM // HEADS)
    expected = layer.attend(*parts, positions, Sets(), None)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer.attend(*parts, positions, Sets(), None), expected)


@every
def test_padding_never_matters(variant: str) -> None:
    layer = build(variant).eval()
    mask = torch.arange(20) < torch.tensor([13, 20, 4])[:, None]
    x, positions = cloud(3, 20)
    expected = layer(x, positions, mask)
    for i, row in enumerate(mask):
        alone = layer(x[i : i + 1, row], positions[i : i + 1, row])
        torch.testing.assert_close(expected[i, row], alone[0], rtol=1e-5, atol=1e-6)
    noise = torch.where(mask[..., None], x, torch.nan)
    assert torch.equal(layer(noise, torch.where(mask[..., None], positions, torch.inf), mask), expected)


@every
def test_packed_sets_do_not_see_each_other(variant: str) -> None:
    layer = build(variant).eval()
    ptr = torch.tensor([0, 7, 7, 20, 21])
    x, positions = cloud(21)
    together = layer(x, positions, ptr=ptr)
    for begin, end in zip(ptr[:-1].tolist(), ptr[1:].tolist(), strict=True):
        alone = layer(x[None, begin:end], positions[None, begin:end])
        torch.testing.assert_close(together[begin:end], alone[0], rtol=1e-5, atol=1e-6)
    assert torch.equal(layer(x, positions, ptr=ptr.int()), together)


@every
@pytest.mark.parametrize("packed", [True, False])
def test_a_nan_stays_in_its_own_set(variant: str, packed: bool) -> None:
    layer = build(variant).eval()
    x, positions = cloud(4, 9)
    x[0] = torch.nan
    x.requires_grad_()
    if packed:
        y = layer(x.flatten(0, 1), positions.flatten(0, 1), ptr=torch.tensor([0, 9, 12, 27, 36])).view_as(x)
    else:
        y = layer(x, positions)
    assert y[1:].isfinite().all()
    (x[1:] + y[1:]).sum().backward()
    assert x.grad is not None
    assert x.grad[1:].isfinite().all()


@every
def test_state_dict_round_trip_and_deepcopy(variant: str) -> None:
    layer = build(variant).eval()
    x, positions = cloud(2, 15)
    expected = layer(x, positions)
    other = build(variant).eval()
    for parameter in other.parameters():
        torch.nn.init.normal_(parameter)
    other.load_state_dict(layer.state_dict())
    assert torch.equal(other(x, positions), expected)
    assert torch.equal(copy.deepcopy(layer)(x, positions), expected)


@pytest.mark.parametrize("source", SHARED)
@pytest.mark.parametrize("target", SHARED)
def test_weights_move_between_mechanisms(source: str, target: str) -> None:
    weights = create_attention(source, DIM, HEADS, bias=True).state_dict()
    layer = create_attention(target, DIM, HEADS, bias=True)
    layer.load_state_dict(weights, strict=True)
    assert all(torch.equal(value, weights[name]) for name, value in layer.state_dict().items())


@every
def test_evaluation_repeats_itself_and_leaves_the_random_state(variant: str) -> None:
    layer = build(variant).eval()
    x, positions = cloud(2, 15)
    before = torch.get_rng_state()
    assert torch.equal(layer(x, positions), layer(x, positions))
    assert torch.equal(torch.get_rng_state(), before)


PROGRAM = """
import sys, torch
sys.path[:0] = {path!r}
from helpers.variants import VARIANTS, build, cloud
torch.manual_seed(int(sys.argv[1]))
torch.rand(int(sys.argv[1]))
x, positions = cloud(2, 15)
weights = torch.load({weights!r}, weights_only=True)
answers = {{}}
for variant in VARIANTS:
    layer = build(variant).eval()
    layer.load_state_dict(weights[variant])
    answers[variant] = layer(x, positions)
torch.save(answers, sys.argv[2])
"""


def test_evaluation_is_the_same_in_another_process(tmp_path) -> None:
    weights = {variant: build(variant).state_dict() for variant in VARIANTS}
    torch.save(weights, tmp_path / "weights.pt")
    program = PROGRAM.format(path=[str(Path(__file__).parents[1])], weights=str(tmp_path / "weights.pt"))
    runs = []
    for number in (1, 2):
        target = tmp_path / f"{number}.pt"
        subprocess.run([sys.executable, "-c", program, str(number), str(target)], check=True)
        runs.append(torch.load(target, weights_only=True))
    x, positions = cloud(2, 15)
    for variant in VARIANTS:
        assert torch.equal(runs[0][variant], runs[1][variant]), variant
        torch.testing.assert_close(build(variant).eval()(x, positions), runs[0][variant], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("variant", RANDOM)
def test_training_draws_afresh_at_every_call(variant: str) -> None:
    layer = build(variant).train()
    x, positions = cloud(2, 15)
    assert not torch.equal(layer(x, positions), layer(x, positions))
    torch.manual_seed(3)
    once = layer(x, positions)
    torch.manual_seed(3)
    assert torch.equal(layer(x, positions), once)


@pytest.mark.parametrize("variant", RANDOM)
def test_a_generator_leaves_the_global_state_alone(variant: str) -> None:
    x, positions = cloud(2, 15)
    before = torch.get_rng_state()
    fresh = [build(variant, generator=torch.Generator().manual_seed(4)).train() for _ in range(2)]
    torch.set_rng_state(before)
    for layer in fresh:
        layer.load_state_dict(fresh[0].state_dict())
    one, two = (layer(x, positions) for layer in fresh)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, two)
    assert not torch.equal(fresh[0](x, positions), one)
    copy.deepcopy(fresh[0])(x, positions)


@pytest.mark.parametrize("variant", RANDOM)
def test_layers_and_seeds_differ_in_evaluation(variant: str) -> None:
    x, positions = cloud(2, 15)
    answers = [build(variant, layer=layer, seed=seed).eval()(x, positions) for layer, seed in ((0, 0), (1, 0), (0, 1))]
    assert not torch.equal(answers[0], answers[1])
    assert not torch.equal(answers[0], answers[2])


def test_number_layers_counts_in_the_order_of_the_modules() -> None:
    network = torch.nn.ModuleDict({name: build(name) for name in VARIANTS})
    number_layers(network)
    assert [layer.layer for layer in network.values()] == list(range(len(VARIANTS)))


BAD_CALLS = {
    "x of another width": (lambda x, p: {"x": x[..., :5]}, "x: expected floats of shape"),
    "x without a batch": (lambda x, p: {"x": x[0]}, "x: expected floats of shape"),
    "x of integers": (lambda x, p: {"x": x.long()}, "x: expected floats"),
    "x with a batch and ptr": (lambda x, p: {"ptr": torch.tensor([0, 2])}, "x: expected floats of shape"),
    "mask of another shape": (lambda x, p: {"mask": torch.ones(2, 4).bool()}, "mask: expected bool of shape"),
    "mask of floats": (lambda x, p: {"mask": torch.ones(2, 5)}, "mask: expected bool"),
    "mask and ptr": (
        lambda x, p: {"mask": torch.ones(2, 5).bool(), "ptr": torch.tensor([0, 2])},
        "mask, ptr: expected at most one",
    ),
    "ptr descending": (
        lambda x, p: {"x": x[0], "positions": p[0], "ptr": torch.tensor([0, 4, 2, 5])},
        "ptr: expected values that start at 0 and never fall",
    ),
    "ptr not from zero": (
        lambda x, p: {"x": x[0], "positions": p[0], "ptr": torch.tensor([1, 5])},
        "ptr: expected values that start at 0",
    ),
    "ptr not to the end": (
        lambda x, p: {"x": x[0], "positions": p[0], "ptr": torch.tensor([0, 4])},
        "ptr: expected the last value to be the number of points, 5, got 4",
    ),
    "ptr of floats": (
        lambda x, p: {"x": x[0], "positions": p[0], "ptr": torch.tensor([0.0, 5.0])},
        "ptr: expected int64",
    ),
    "positions of another length": (lambda x, p: {"positions": p[:, :3]}, "positions: expected floats of shape"),
    "positions with NaN": (
        lambda x, p: {"positions": torch.where(p > 0.9, torch.nan, p) * torch.inf},
        "positions: expected finite",
    ),
}


@every
@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_calls_name_the_argument(variant: str, case: str) -> None:
    change, message = BAD_CALLS[case]
    x, positions = cloud(2, 5)
    with pytest.raises(ValueError, match=message):
        build(variant)(**{"x": x, "positions": positions, **change(x, positions)})


@pytest.mark.parametrize("variant", ["knn", "knn-vector", "stratified", "sampled-morton", "sampled-mixed"])
def test_missing_positions_are_named(variant: str) -> None:
    with pytest.raises(ValueError, match=r"positions: expected shape .* needs, got None"):
        build(variant)(cloud(2, 5)[0])


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sampled", {"dim": 10, "heads": 4}, "heads: expected a divisor of dim=10"),
        ("dense", {"heads": 0}, "dim, heads"),
        ("dense", {"head_dim": 0}, "head_dim: expected"),
        ("dense", {"scale": float("inf")}, "scale: expected a finite"),
        ("knn", {"k": 0}, "k: expected at least 1"),
        ("induced", {"inducing": 0}, "inducing: expected at least 1"),
        ("stratified", {"window": 0.0}, "window: expected a positive"),
        ("sampled", {"subset": 1}, "subset: expected at least 2"),
        ("estimated", {"rounds": 0}, "rounds: expected at least 1"),
        ("estimated", {"estimator": "unbiased"}, "estimator: expected one of plain, consistent"),
        ("sampled", {"summed": 5}, "summed: expected 0 to 4 heads"),
        ("sampled", {"summed": 1, "order": "mixed"}, "order, inner: expected 'hilbert' and 'dense'"),
        ("rotary", {"head_dim": 3}, "head_dim: expected an even number"),
        ("rotary", {"low": 0.0}, "low, high: expected 0 < low <= high, got 0.0 and 16.0"),
        ("rotary", {"low": 20.0}, "low, high: expected 0 < low <= high"),
        ("rotary", {"coordinates": 0}, "coordinates: expected at least 1, got 0"),
        ("summed", {"local": -1}, "local: expected 0 to 4 heads, got -1"),
        ("summed", {"window": 1}, "window: expected at least 2 points, got 1"),
        ("estimated", {"rest": "mean"}, "rest: expected one of ignored, linear"),
        ("sampled", {"order": "z"}, "order: expected one of random, morton, hilbert, mixed"),
        ("sampled", {"inner": "dense", "rounds": 2}, "expected an option of the mechanism 'estimated'"),
        ("estimated", {"estimator": "consistent", "rest": "linear"}, "estimator: expected 'plain'"),
        ("sampled", {"order": "mixed", "heads": 1}, "order: expected at least 2 heads"),
        ("sampled", {"samples": 0}, "samples: expected at least 1"),
        ("sampled", {"inner": "ring"}, "inner: expected one of"),
        ("sampled", {"composition": "both"}, "composition: expected one of"),
        ("sampled", {"cycles": "many"}, "cycles: expected one of shared, per-head, network, got 'many'"),
        ("summed", {"cycles": "per-head"}, "cycles: expected one of shared, network, got 'per-head'"),
        ("dense", {"cycles": "network"}, "expected an option of the mechanism 'dense' .* got 'cycles'"),
        ("sampled", {"composition": "sequential", "cycles": "per-head"}, "cycles, order: expected one cycle"),
        ("sampled", {"composition": "sequential", "order": "mixed"}, "cycles, order: expected one cycle"),
        (
            "sampled",
            {"sample": 8},
            r"the mechanism 'sampled' .* got 'sample'; did you mean 'samples'\?",
        ),
        ("knn", {"neighbours": 8}, "expected an option of the mechanism 'knn' .* got 'neighbours'"),
        ("sampeld", {}, "did you mean 'sampled'"),
    ],
)
def test_bad_options_name_the_argument(name: str, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        create_attention(name, **{"dim": 16, "heads": 4, **options})


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name.startswith("sampled")])
def test_a_cycle_for_other_sets_is_refused(variant: str) -> None:
    layer = build(variant)
    x, positions = cloud(2, 5)
    mask = torch.ones(2, 5).bool()
    for arguments in (
        {"cycle": Cycle.sample(6)},
        {"cycle": Cycle.sample(5, heads=3)},
        {"cycle": Cycle.sample(5), "mask": mask},
        {"cycle": Cycle.sample(ptr=torch.tensor([0, 5]))},
        {"cycle": Cycle.sample(mask=mask), "mask": torch.arange(5).expand(2, 5) < 4},
        {"cycle": Cycle.sample(mask=torch.arange(5).expand(2, 5) < 4)},
        {
            "x": x[0],
            "positions": positions[0],
            "ptr": torch.tensor([0, 2, 5]),
            "cycle": Cycle.sample(ptr=torch.tensor([0, 5])),
        },
    ):
        with pytest.raises(ValueError, match=r"cycle: expected (the shape|one drawn)"):
            layer(**{"x": x, "positions": positions, **arguments})


def test_every_mechanism_is_described() -> None:
    for name in list_attention():
        assert type(create_attention(name, 8, 2)).__doc__
        assert "dim=8" in repr(create_attention(name, 8, 2))
