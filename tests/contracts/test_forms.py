"""Sets in every form, with any number of coordinates, in everything that takes sets."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from helpers.variants import DIM, HEADS, VARIANTS, build
from torch import Tensor, nn

from sampled_transformer import (
    Cycle,
    PositionEmbedding,
    TransformerBlock,
    create_attention,
    create_model,
    list_attention,
)
from sampled_transformer.geometry import (
    chamfer_distance,
    farthest_points,
    nearest_neighbours,
    space_filling_order,
)
from sampled_transformer.layers.pooling import pool_max

SIZES = [4, 0, 7, 1]
PTR = torch.tensor([0, 4, 4, 11, 12])
BATCH = torch.tensor([0] * 4 + [2] * 7 + [3])
WAYS: dict[str, dict[str, Any]] = {
    "list": {"ptr": PTR.tolist()},
    "tuple": {"ptr": tuple(PTR.tolist())},
    "numpy": {"ptr": PTR.numpy()},
    "numpy int32": {"ptr": PTR.numpy().astype(np.int32)},
    "batch": {"batch": BATCH},
    "batch of int32": {"batch": BATCH.int()},
    "batch as a list": {"batch": BATCH.tolist()},
    "batch in numpy": {"batch": BATCH.numpy()},
    "batch with its size": {"batch": BATCH, "batch_size": 4},
}


def cloud(coordinates: int = 3) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(12, DIM, generator=generator), torch.rand(12, coordinates, generator=generator) * 2 - 1


def nest(x: Tensor) -> Tensor:
    return torch.nested.nested_tensor_from_jagged(x, PTR)


def block(variant: str) -> nn.Module:
    torch.manual_seed(0)
    name, options = VARIANTS[variant]
    return TransformerBlock(DIM, HEADS, name, norm=True, **options)


@pytest.mark.parametrize("make", [build, block])
@pytest.mark.parametrize("variant", VARIANTS)
def test_all_forms_of_packed_sets_give_the_same(variant: str, make: Callable[[str], nn.Module]) -> None:
    layer, (x, positions) = make(variant).eval(), cloud()
    expected = layer(x, positions, ptr=PTR)
    for name, way in WAYS.items():
        assert torch.equal(layer(x, positions, **way), expected), name
    given = nest(x)
    nested = layer(given, nest(positions))
    assert nested.offsets() is given.offsets()
    assert torch.equal(nested.values(), expected)
    assert [len(part) for part in nested.unbind()] == SIZES


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_packed_set_alone_is_answered_as_a_plain_one_and_as_among_others(variant: str) -> None:
    layer, (x, positions) = build(variant).eval(), cloud()
    torch.testing.assert_close(layer(x, positions, ptr=[0, len(x)]), layer(x[None], positions[None])[0])
    if not layer.is_random:  # the cycles of packed sets are those of the whole call
        alone = torch.cat([layer(x[a:b], positions[a:b], ptr=[0, b - a]) for a, b in pairwise(PTR.tolist())])
        torch.testing.assert_close(alone, layer(x, positions, ptr=PTR))


@pytest.mark.parametrize("make", [build, block])
@pytest.mark.parametrize("name", ["dense", "induced", "knn", "linear", "rotary", "sampled", "summed"])
def test_contexts_take_all_forms(name: str, make: Callable[[str], nn.Module]) -> None:
    layer, (x, positions) = make(name).eval(), cloud()
    other = torch.tensor([0, 2, 3, 5, 12])
    context = {"context": x.flip(0), "context_positions": positions.flip(0)}
    expected = layer(x, positions, ptr=PTR, **context, context_ptr=other)
    numbers = [0] * 2 + [1] + [2] * 2 + [3] * 7
    for way in ({"context_ptr": other.tolist()}, {"context_batch": numbers, "context_batch_size": 4}):
        assert torch.equal(layer(x, positions, batch=BATCH, **context, **way), expected)
    nested = {key: torch.nested.nested_tensor_from_jagged(value, other) for key, value in context.items()}
    assert torch.equal(layer(nest(x), nest(positions), **nested).values(), expected)
    with pytest.raises(ValueError, match="context_batch: expected one set number for each of the 12 points, got 3"):
        layer(x, positions, batch=BATCH, **context, context_batch=[0, 1, 2])
    with pytest.raises(ValueError, match="context: expected a tensor, got NoneType"):
        layer(x, positions, batch=BATCH, context_batch=numbers)


def test_nested_sets_train_and_their_result_adds_to_them() -> None:
    layer, (x, _) = build("sampled"), cloud()
    x = nest(x).requires_grad_()
    (x + layer(x)).values().square().sum().backward()
    assert x.grad.values().isfinite().all()
    assert layer.query.weight.grad.any()


def test_hooks_see_the_call_once() -> None:
    layer, (x, _) = build("sampled"), cloud()
    seen = []
    layer.register_forward_hook(lambda module, inputs, output: seen.append(output))
    out = layer(x, batch=BATCH)
    assert len(seen) == 1
    assert seen[0] is out


NETWORKS: dict[str, dict[str, Any]] = {
    "basic": {"classes": 5, "dim": DIM, "heads": HEADS, "hidden": DIM, "normals": False},
    "set-transformer": {"classes": 5, "dim": DIM, "heads": HEADS},
    "set-transformer-mixture": {"inputs": 3, "dim": DIM, "heads": HEADS},
    "pooling-mixture": {"inputs": 3, "dim": DIM},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_take_all_forms(name: str) -> None:
    torch.manual_seed(0)
    network, (_, points) = create_model(name, **NETWORKS[name]).eval(), cloud()

    def answers(*arguments: Tensor, **way: Any) -> Tensor:
        out = network(*arguments, **way)
        return out if isinstance(out, Tensor) else out.means

    expected = answers(points, ptr=PTR)
    assert len(expected) == 4
    for form, way in WAYS.items():
        assert torch.equal(answers(points, **way), expected), form
    assert torch.equal(answers(nest(points)), expected)
    # An empty last set cannot be seen in a batch vector.
    longer = answers(points, ptr=[*PTR.tolist(), 12])
    assert torch.equal(answers(points, batch=BATCH, batch_size=5), longer)
    assert len(answers(points, batch=BATCH)) == 4
    with pytest.raises(ValueError, match=r"points: expected floats of shape .* with ptr or batch, got"):
        network(points)
    with pytest.raises(ValueError, match="points: expected 3 coordinates, as the network was built for, got 2"):
        network(points[:, :2], ptr=PTR)
    with pytest.raises(ValueError, match="batch: expected set numbers in ascending order"):
        network(points, batch=BATCH.flip(0))


@pytest.mark.parametrize("name", ["hierarchical", "mae", "mae-classifier"])
def test_networks_of_plain_sets_refuse_other_forms_in_one_line(name: str) -> None:
    options = {"hierarchical": {"classes": 5, "normals": False}, "mae": {}, "mae-classifier": {"classes": 5}}[name]
    network, (_, points) = create_model(name, **options), cloud()
    for form in (nest(points), points, points.numpy(), points[None, :, :2]):
        with pytest.raises(ValueError, match=r"points: expected .*\(batch, n, 3\).*, got"):
            network(form)


def test_normals_take_the_form_of_the_points() -> None:
    torch.manual_seed(0)
    network, (_, points) = create_model("basic", **{**NETWORKS["basic"], "normals": True}).eval(), cloud()
    expected = network(points, points, ptr=PTR)
    assert torch.equal(network(nest(points), nest(points)), expected)
    assert torch.equal(network(points, points, batch=BATCH), expected)
    with pytest.raises(ValueError, match=r"normals: expected a nested tensor, as points is, got torch.float32"):
        network(nest(points), points)


def test_pooling_and_geometry_take_all_forms() -> None:
    x, points = cloud()
    expected = pool_max(x, ptr=PTR)
    for way in WAYS.values():
        assert torch.equal(pool_max(x, **way), expected)
    assert torch.equal(pool_max(nest(x)), expected)
    for way in (way for way in WAYS.values() if "batch_size" not in way):
        for one, two in zip(farthest_points(points, 2, **way), farthest_points(points, 2, ptr=PTR), strict=True):
            assert torch.equal(one, two)
        for one, two in zip(nearest_neighbours(points, 2, **way), nearest_neighbours(points, 2, ptr=PTR), strict=True):
            assert torch.equal(one, two)
        assert torch.equal(space_filling_order(points, **way), space_filling_order(points, ptr=PTR))
        both = {f"{prefix}_{name}": value for prefix in ("first", "second") for name, value in way.items()}
        expected = chamfer_distance(points, -points, first_ptr=PTR, second_ptr=PTR)
        assert torch.equal(chamfer_distance(points, -points, **both), expected)
    found, _ = nearest_neighbours(points, 2, batch=BATCH, queries=points[:4], query_batch=[0, 0, 0, 3])
    assert found[:3].max() < 4
    assert found[3].tolist() == [11, -1]


def test_geometry_refuses_forms_that_contradict_each_other() -> None:
    _, points = cloud()
    with pytest.raises(ValueError, match="batch: expected it without mask and ptr, got both"):
        farthest_points(points, 2, ptr=PTR, batch=BATCH)
    with pytest.raises(ValueError, match=r"got a nested one; give points.values\(\) with ptr=points.offsets\(\)"):
        space_filling_order(nest(points))
    with pytest.raises(ValueError, match="queries: expected queries with query_mask, query_ptr or query_batch"):
        nearest_neighbours(points, 2, ptr=PTR, query_batch=BATCH)


def test_cycles_take_lists() -> None:
    expected = Cycle.from_seed(3, ptr=PTR)
    for ptr in (PTR.tolist(), PTR.numpy(), PTR.int()):
        cycle = Cycle.from_seed(3, ptr=ptr)
        assert torch.equal(cycle.order, expected.order)
        assert torch.equal(Cycle.from_order(cycle.order, ptr).successor, expected.successor)
        assert Cycle.sample(ptr=ptr).ptr.dtype == torch.int64


@pytest.mark.parametrize("make", [build, block])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("key_padding_mask", "mask=~key_padding_mask"),
        ("src_key_padding_mask", "mask=~src_key_padding_mask"),
        ("attention_mask", r"mask=attention_mask.bool\(\)"),
        ("attn_mask", "mask .batch, n. for padding"),
        ("maks", "unexpected keyword argument 'maks'"),
    ],
)
def test_masks_of_other_libraries_are_refused(name: str, message: str, make: Callable[[str], nn.Module]) -> None:
    with pytest.raises(TypeError, match=message):
        make("sampled")(torch.randn(2, 5, DIM), **{name: torch.ones(2, 5, dtype=torch.bool)})


@pytest.mark.parametrize("coordinates", [1, 2, 7])
@pytest.mark.parametrize("variant", VARIANTS)
def test_positions_may_have_any_number_of_coordinates(variant: str, coordinates: int) -> None:
    name, options = VARIANTS[variant]
    x, positions = cloud(coordinates)
    if variant in ("rotary", "knn-vector"):  # whose parameters depend on it
        message = f"positions: expected 3 coordinates, got {coordinates}; build it with coordinates={coordinates}"
        with pytest.raises(ValueError, match=message):
            build(variant)(x[None], positions[None])
        options = {**options, "coordinates": coordinates}
    layer = create_attention(name, DIM, HEADS, **options)
    assert layer(x[None], positions[None]).isfinite().all()
    assert layer(x, positions, ptr=PTR).isfinite().all()


def test_more_coordinates_than_a_curve_has_bits_are_refused_in_one_line() -> None:
    x, positions = torch.randn(1, 5, DIM), torch.rand(1, 5, 63)
    with pytest.raises(ValueError, match="points: expected at most 62 coordinates for a curve, got 63"):
        create_attention("sampled", DIM, HEADS, order="hilbert")(x, positions)


def test_embeddings_and_networks_say_how_to_build_them_for_other_coordinates() -> None:
    with pytest.raises(ValueError, match="positions: expected 3 coordinates, got 2; build it with coordinates=2"):
        PositionEmbedding(DIM)(torch.rand(2, 5, 2))
    assert PositionEmbedding(DIM, coordinates=2)(torch.rand(2, 5, 2)).shape == (2, 5, DIM)
    for name in list_attention():
        options = {"coordinates": 2} if name == "rotary" else {}
        flat = create_model("basic", **NETWORKS["basic"], coordinates=2, attention=name, attention_options=options)
        assert flat(torch.rand(2, 9, 2)).shape == (2, 5)


@pytest.mark.parametrize("form", ["batch", "nested"])
def test_forms_compile(form: str) -> None:
    torch.compiler.reset()
    layer, (x, positions) = build("sampled").eval(), cloud()
    compiled = torch.compile(layer, backend="eager")
    if form == "nested":
        out = compiled(nest(x), nest(positions)).values()
    else:
        out = compiled(x, positions, batch=BATCH, batch_size=4)
    torch.testing.assert_close(out, layer(x, positions, ptr=PTR))
    torch.compiler.reset()


def test_a_batch_of_pytorch_geometric_goes_in_as_it_is() -> None:
    data = pytest.importorskip("torch_geometric.data", reason='it needs pip install "sampled-transformer[pyg]"')
    graphs = [data.Data(x=torch.randn(size, DIM), pos=torch.rand(size, 3)) for size in (4, 7, 1)]
    batch = data.Batch.from_data_list(graphs)
    layer, network = build("knn").eval(), create_model("basic", **NETWORKS["basic"]).eval()
    together = layer(batch.x, batch.pos, batch=batch.batch)
    for graph, rows in zip(graphs, together.split([4, 7, 1]), strict=True):
        torch.testing.assert_close(rows, layer(graph.x[None], graph.pos[None])[0], rtol=1e-5, atol=1e-6)
    logits = network(batch.pos, batch=batch.batch)
    assert torch.equal(network(batch.pos, ptr=batch.ptr), logits)
    for graph, row in zip(graphs, logits, strict=True):
        torch.testing.assert_close(row, network(graph.pos[None])[0], rtol=1e-5, atol=1e-6)
    graphs.append(data.Data(x=torch.zeros(0, DIM), pos=torch.zeros(0, 3)))
    batch = data.Batch.from_data_list(graphs)
    for way in ({"ptr": batch.ptr}, {"batch": batch.batch, "batch_size": batch.num_graphs}):
        assert network(batch.pos, **way).shape == (4, 5)
