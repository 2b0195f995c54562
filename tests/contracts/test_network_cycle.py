"""cycles="network": in one pass, all layers of a network that attend over the same points walk the same cycle."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sampled_transformer import Cycle, TransformerBlock, create_model, network_cycle, number_layers
from sampled_transformer.attention.cyclic import CyclicAttention
from sampled_transformer.randomness import cycle_seed, key_by

BASIC = {"classes": 3, "dim": 16, "heads": 4, "hidden": 8, "depth": 3, "normals": False}
AUTOENCODER = {"dim": 16, "heads": 2, "hidden": 16, "depth": 3, "groups": 12, "group_size": 8, "embedding": 8}
HIERARCHICAL = {"stages": 2, "widths": (64, 32), "neighbours": (4, 4), "strides": (2, 2), "blocks": (3, 2)}
# Every network with cycles, and how many layers of it see the same points, part by part.
NETWORKS: dict[str, tuple[str, dict[str, Any], list[int]]] = {
    "basic": ("basic", BASIC, [3]),
    "hierarchical": ("hierarchical", {"classes": 3, "normals": False, **HIERARCHICAL}, [3, 2]),
    "mae": ("mae", {"decoder_depth": 2, **AUTOENCODER}, [3, 2]),
    "mae-classifier": ("mae-classifier", {"classes": 3, **AUTOENCODER}, [3]),
    "mae-class-token": ("mae-classifier", {"classes": 3, "pooling": "cls-max", **AUTOENCODER}, [3]),
    "set-transformer": ("set-transformer", {"classes": 3, "dim": 16, "heads": 2, "depth": 3}, [3]),
    "set-transformer-mixture": ("set-transformer-mixture", {"inputs": 3, "dim": 16, "heads": 2, "depth": 3}, [3]),
}
every = pytest.mark.parametrize("name", NETWORKS)
FORMS = {  # of the mechanism: paths through its code
    "random": ("sampled", {}),
    "hilbert": ("sampled", {"order": "hilbert"}),
    "mixed": ("sampled", {"order": "mixed"}),
    "sequential": ("sampled", {"composition": "sequential", "subset": 3}),
    "rest-linear": ("estimated", {"rest": "linear", "rounds": 2}),
    "summed-local": ("summed", {"local": 1, "window": 5}),
}


def build(name: str, cycles: str = "network", attention: str = "sampled", **options: object) -> nn.Module:
    torch.manual_seed(0)
    model, own, _ = NETWORKS[name]
    return create_model(model, attention=attention, attention_options={"cycles": cycles, **options}, **own)


def cloud(*shape: int) -> Tensor:
    return torch.rand(*shape, 3, generator=torch.Generator().manual_seed(1)) * 2 - 1


def layers_of(name: str, network: nn.Module) -> list[list[CyclicAttention]]:
    """The layers of a network, part by part."""
    layers = iter([module for module in network.modules() if isinstance(module, CyclicAttention)])
    parts = [[next(layers) for _ in range(size)] for size in NETWORKS[name][2]]
    assert next(layers, None) is None
    return parts


def walked(name: str, network: nn.Module, points: Tensor, **sets: Tensor) -> list[list[list[Tensor]]]:
    """The successors that the layers walk in one call: part by part, layer by layer, cycle by cycle."""
    seen: dict[CyclicAttention, list[Tensor]] = {}

    def watch(layer: CyclicAttention) -> Callable[..., Tensor]:
        def along(query: Tensor, key: Tensor, value: Tensor, sets: Any, cycle: Cycle) -> Tensor:
            seen.setdefault(layer, []).append(cycle.successor)
            return type(layer).along(layer, query, key, value, sets, cycle)

        return along

    parts = layers_of(name, network)
    for layer in chain(*parts):
        layer.along = watch(layer)
    network(points, **sets)
    for layer in chain(*parts):
        del layer.along
    return [[seen[layer] for layer in part] for part in parts]


def same(one: list[Tensor], two: list[Tensor]) -> bool:
    return len(one) == len(two) and all(map(torch.equal, one, two))


def result(network: nn.Module, points: Tensor) -> Tensor:
    """What a network returns, as one tensor."""
    answer = network(points)
    return answer if isinstance(answer, Tensor) else torch.cat([part.flatten() for part in answer])


@every
def test_training_draws_one_cycle_per_pass_and_part(name: str) -> None:
    network, points = build(name).train(), cloud(4, 96)
    first, second = walked(name, network, points), walked(name, network, points)
    for part, again in zip(first, second, strict=True):
        assert all(len(layer) == 1 and same(layer, part[0]) for layer in part)
        assert not same(part[0], again[0])
    assert len({part[0][0].shape for part in first}) == len(first)  # parts see different numbers of points


@every
@pytest.mark.parametrize("training", [True, False])
def test_by_default_every_layer_walks_a_cycle_of_its_own(name: str, training: bool) -> None:
    (first, second, *_), *_ = walked(name, build(name, "shared").train(training), cloud(4, 96))
    assert not same(first, second)


@every
def test_evaluation_walks_the_cycles_of_the_first_layer(name: str) -> None:
    network, points = key_by(build(name, samples=3).eval(), "places"), cloud(4, 96)
    for seed in (0, 5):
        with cycle_seed(network, seed):
            parts = walked(name, network, points)
        for part, layers in zip(parts, layers_of(name, network), strict=True):
            n = part[0][0].shape[-1]
            expected = [Cycle.from_seed((seed, layers[0].layer, sample), n).successor for sample in range(3)]
            assert all(same(layer, expected) for layer in part)


@every
def test_evaluation_is_that_of_layers_with_one_number(name: str) -> None:
    network, plain, points = build(name, samples=2).eval(), build(name, "shared", samples=2).eval(), cloud(4, 96)
    plain.load_state_dict(network.state_dict())
    expected = result(network, points)
    assert not torch.equal(result(plain, points), expected)
    for part in layers_of(name, plain):
        for layer in part:
            layer.layer = part[0].layer
    assert torch.equal(result(plain, points), expected)


def test_training_is_that_of_a_cycle_drawn_by_hand() -> None:
    points = cloud(4, 20)
    network = build("basic", generator=torch.Generator().manual_seed(3)).train()
    plain = build("basic", "shared").train()
    plain.load_state_dict(network.state_dict())
    by_hand = torch.Generator().manual_seed(3)
    state = torch.get_rng_state()
    for _ in range(2):
        expected = plain(points, cycle=Cycle.sample(20, generator=by_hand))
        assert torch.equal(network(points), expected)
    assert torch.equal(torch.get_rng_state(), state)  # the layers' own generator was enough


def test_a_given_cycle_wins() -> None:
    for training in (True, False):
        given = Cycle.sample(20)
        ((first, *others),) = walked("basic", build("basic").train(training), cloud(4, 20), cycle=given)
        assert all(same(layer, [given.successor]) for layer in (first, *others))


@pytest.mark.parametrize("form", FORMS)
def test_plain_padded_and_packed_sets_agree(form: str) -> None:
    attention, options = FORMS[form]
    network = build("basic", attention=attention, **options).eval()
    points = cloud(3, 20)
    expected = network(points)
    packed = network(points.flatten(0, 1), ptr=(torch.arange(4) * 20).int())
    torch.testing.assert_close(packed, expected, rtol=1e-5, atol=1e-5)
    mask = torch.zeros(3, 25, dtype=torch.bool)
    mask[:, 3:23] = True
    wide = torch.full((3, 25, 3), torch.nan).index_put((mask,), points.flatten(0, 1))
    torch.testing.assert_close(network(wide, mask=mask), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", [form for form in FORMS if form != "sequential"])
@pytest.mark.parametrize("training", [True, False])
def test_all_layers_of_every_form_walk_the_same_cycles(form: str, training: bool) -> None:
    attention, options = FORMS[form]
    network = build("basic", attention=attention, **options).train(training)
    mask = torch.arange(20) < torch.tensor([20, 7, 1])[:, None]
    ptr = torch.tensor([0, 20, 20, 27, 60])
    for sets, points in (({}, cloud(3, 20)), ({"mask": mask}, cloud(3, 20)), ({"ptr": ptr}, cloud(60))):
        ((first, *others),) = walked("basic", network, points, **sets)
        assert all(same(layer, first) for layer in others)


def test_sets_of_different_sizes_have_cycles_of_their_own() -> None:
    network = build("basic").train()
    mask = torch.arange(20) < torch.tensor([20, 20])[:, None]
    (((successor,), *_),) = walked("basic", network, cloud(2, 20), mask=mask)
    assert successor.shape == (2, 1, 20)
    assert not torch.equal(successor[0], successor[1])


def test_points_and_cycle_move_together() -> None:
    network, points = build("basic").double().eval(), cloud(2, 20).double()
    moved, cycle = torch.randperm(20), Cycle.sample(20)
    expected = network(points, cycle=cycle)
    torch.testing.assert_close(network(points[:, moved], cycle=cycle.permute(moved)), expected, rtol=0, atol=1e-12)


def test_positions_alone_choose_the_cycle_along_a_curve() -> None:
    network, points = build("basic", order="hilbert").double().eval(), cloud(2, 20).double()
    torch.testing.assert_close(network(points[:, torch.randperm(20)]), network(points), rtol=0, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_sets_without_points(training: bool) -> None:
    network = build("basic").train(training)
    mask = torch.zeros(3, 4, dtype=torch.bool)
    assert network(cloud(3, 4), mask=mask).isfinite().all()
    assert network(cloud(0), ptr=torch.tensor([0, 0, 0])).shape == (2, 3)


def test_bad_arguments_are_named_as_without_a_shared_cycle() -> None:
    network, points = build("basic", order="hilbert"), cloud(2, 20)
    points[0, 0, 0] = torch.nan
    with pytest.raises(ValueError, match="positions: expected finite"):
        network(points)
    with pytest.raises(ValueError, match="ptr: expected"):
        network(cloud(20), ptr=torch.tensor([0, 19]))


def stack(depth: int, **options: object) -> nn.ModuleList:
    """A network of the user's own."""
    torch.manual_seed(0)
    blocks = nn.ModuleList(TransformerBlock(16, 4, **options) for _ in range(depth))
    number_layers(blocks)
    return blocks.double()


def run(blocks: nn.ModuleList, x: Tensor, cycle: Any) -> Tensor:
    for block in blocks:
        x = block(x, cycle=cycle)
    return x


def test_a_layer_by_itself_draws_its_own_cycle() -> None:
    x = torch.randn(2, 20, 16, dtype=torch.float64)
    one, two = stack(3, cycles="network").eval(), stack(3, cycles="shared").eval()
    assert torch.equal(run(one, x, None), run(two, x, None))
    assert network_cycle((block.attention for block in two), x) is None


@pytest.mark.parametrize("depth", [1, 3])
def test_a_point_sees_as_many_points_of_the_cycle_as_there_are_layers(depth: int) -> None:
    """What distinguishes the two readings: with cycles of their own, layers see up to 2^depth points."""
    x = torch.randn(1, 40, 16, dtype=torch.float64, requires_grad=True)
    blocks = stack(depth, cycles="network").train()
    (cycle,) = network_cycle((block.attention for block in blocks), x)
    place = torch.randint(40, ()).item()
    run(blocks, x, [cycle])[0, cycle.order[0, place]].sum().backward()
    seen = x.grad[0].abs().sum(-1).nonzero().flatten()
    following = cycle.order[0].roll(-place)[: depth + 1]
    assert seen.tolist() == following.sort().values.tolist()


def test_blocks_that_are_computed_again_walk_the_same_cycle() -> None:
    """The network draws outside its blocks: activation checkpointing of a block draws nothing again."""
    blocks = stack(3, cycles="network", generator=torch.Generator().manual_seed(0)).train()
    x = torch.randn(2, 20, 16, dtype=torch.float64, requires_grad=True)
    cycle = network_cycle((block.attention for block in blocks), x)
    (expected,) = torch.autograd.grad(run(blocks, x, cycle).square().sum(), x)
    y = x
    for block in blocks:
        y = checkpoint(block, y, None, None, None, cycle, use_reentrant=False)
    (again,) = torch.autograd.grad(y.square().sum(), x)
    torch.testing.assert_close(again, expected)


@pytest.mark.parametrize("training", [True, False])
def test_the_draw_compiles_with_the_blocks(training: bool) -> None:
    blocks = stack(2, cycles="network").train(training)

    def network(x: Tensor) -> tuple[Tensor, Tensor]:
        cycle = network_cycle((block.attention for block in blocks), x)
        return run(blocks, x, cycle), cycle[0].successor

    torch.compiler.reset()
    compiled = torch.compile(network, dynamic=True, backend="eager", fullgraph=True)
    for n in (20, 27):
        x = torch.randn(2, n, 16, dtype=torch.float64)
        y, successor = compiled(x)
        by_hand = Cycle.from_order(written_out(successor))
        torch.testing.assert_close(y, run(blocks, x, by_hand))
        assert torch.equal(compiled(x)[1], successor) != training
    torch.compiler.reset()


def written_out(successor: Tensor) -> Tensor:
    """The cycle from its first point on, (1, n)."""
    order = [0]
    while (following := int(successor[0, order[-1]])) != 0:
        order.append(following)
    return torch.tensor([order])


def test_an_exported_network_walks_one_cycle() -> None:
    network = build("basic").eval()
    shape = {0: torch.export.Dim("batch", min=1, max=64), 1: torch.export.Dim("n", min=2, max=1 << 20)}
    program = torch.export.export(network, (cloud(2, 12),), dynamic_shapes=(shape,)).module()
    for n in (7, 30):
        torch.testing.assert_close(program(cloud(3, n)), network(cloud(3, n)), rtol=1e-5, atol=1e-6)
