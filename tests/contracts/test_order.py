"""In evaluation the order of the points does not matter: to layers that get positions, to networks, in every form."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sampled_transformer import create_attention, create_model, key_by, list_attention
from sampled_transformer.attention import Attention

LAYERS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in list_attention() if name != "sparse"},
    "sampled-several": ("sampled", {"samples": 3, "seed": 5}),
    "sampled-per-head": ("sampled", {"cycles": "per-head"}),
    "sampled-windows": ("sampled", {"inner": "dense", "subset": 5}),
    "sampled-sequential": ("sampled", {"composition": "sequential", "subset": 4}),
    "sampled-hilbert": ("sampled", {"order": "hilbert"}),
    "sampled-mixed": ("sampled", {"order": "mixed", "cycles": "per-head"}),
    "estimated-rounds": ("estimated", {"rounds": 3}),
    "estimated-rest": ("estimated", {"rounds": 3, "rest": "linear"}),
    "summed-local": ("summed", {"local": 1, "window": 4}),
    "induced-sampled": ("induced", {"sampled": True}),
    "knn-few": ("knn", {"k": 3}),
    "knn-vector": ("knn", {"k": 4, "vector": True}),
    "stratified-shifted": ("stratified", {"layer": 1}),
}
NETWORKS: dict[str, dict[str, Any]] = {
    "basic": {"dim": 16, "heads": 2, "hidden": 16, "depth": 2, "normals": False},
    "hierarchical": {"stages": 2, "widths": (16, 32), "blocks": (1, 1), "normals": False},
    "mae-classifier": {"groups": 8, "group_size": 6, "dim": 16, "heads": 2, "hidden": 16, "depth": 2},
    "set-transformer": {"dim": 16, "heads": 2},
    "pyramid": {"widths": (16, 32), "strides": (2, 2), "neighbours": (4, 4), "stem": 8, "head": 16},
}
# (network, mechanism, its options)
CASES: list[tuple[str, str, dict[str, Any]]] = [
    *((model, name, {}) for model in list(NETWORKS)[:3] for name in list_attention() if name != "sparse"),
    *(("set-transformer", name, {}) for name in ("dense", "sampled", "induced")),
    ("set-transformer", "induced", {"reading": "rows"}),
    ("set-transformer", "induced", {"reading": "columns"}),
    ("set-transformer", "sampled", {"cycles": "network"}),
    ("basic", "sampled", {"cycles": "network", "samples": 2}),
    ("basic", "induced", {"sampled": True}),
    ("mae-classifier", "sampled", {"cycles": "network"}),
    *(("pyramid", name, {}) for name in ("none", "sampled", "rotary")),
]


def points_with_ties(sets: int, n: int) -> Tensor:
    """Points on a grid, many of which have several neighbours at the same distance, and some of which coincide."""
    drawn = torch.stack([torch.randperm(125)[:n] for _ in range(sets)])
    points = torch.stack([drawn // 25, drawn // 5 % 5, drawn % 5], -1) / 4.0 - 0.5
    points[:, -3:] = points[:, :3]
    return points


def layer_and_points(case: str) -> tuple[Attention, Tensor, Tensor, Tensor]:
    """A layer in float64, features, positions and an order; points at one place have the same features."""
    torch.manual_seed(0)
    name, options = LAYERS[case]
    positions = points_with_ties(3, 20).double()
    x = torch.cat([positions, positions.sin()], -1) @ torch.randn(6, 8, dtype=torch.float64)
    return create_attention(name, 8, 2, **options).double().eval(), x, positions, torch.randperm(20)


def by_place_in_space(out: Tensor, positions: Tensor) -> Tensor:
    """Rows in the order of their positions; of points that coincide, the first one of the list first."""
    code = (positions * 4 + 2).round() @ torch.tensor([25.0, 5.0, 1.0], dtype=positions.dtype)
    return out.gather(1, code.argsort(dim=1, stable=True)[..., None].expand_as(out))


def forms(layer: Attention, x: Tensor, positions: Tensor) -> dict[str, Tensor]:
    """The layer's output for the sets in every form, all as (3, 20, dim)."""
    mask = torch.zeros(3, 26, dtype=torch.bool)
    mask[0, 6:] = mask[1, :20] = mask[2, 3:23] = True
    padded = [torch.full((3, 26, part.shape[2]), torch.nan).double() for part in (x, positions)]
    for whole, part in zip(padded, (x, positions), strict=True):
        whole[mask] = part.flatten(0, 1)
    nested = [torch.nested.nested_tensor(list(part), layout=torch.jagged) for part in (x, positions)]
    return {
        "plain": layer(x, positions),
        "padded": layer(*padded, mask=mask)[mask].view(3, 20, -1),
        "packed": layer(x.flatten(0, 1), positions.flatten(0, 1), ptr=[0, 20, 40, 60]).view(3, 20, -1),
        "nested": layer(*nested).values().view(3, 20, -1),
    }


@pytest.mark.parametrize("case", LAYERS)
def test_a_layer_with_positions_gives_each_point_the_same_in_any_order_and_form(case: str) -> None:
    layer, x, positions, order = layer_and_points(case)
    expected, shuffled = forms(layer, x, positions), forms(layer, x[:, order], positions[:, order])
    for form, out in shuffled.items():
        # A search of neighbours may take others of equal distance in another form, but not in another order.
        like = expected[form if case.startswith("knn") else "plain"]
        torch.testing.assert_close(
            by_place_in_space(out, positions[:, order]), by_place_in_space(like, positions), msg=form
        )


@pytest.mark.parametrize("name", ["sampled", "knn", "induced"])
def test_a_context_is_read_in_any_order(name: str) -> None:
    torch.manual_seed(0)
    options = {"induced": {"sampled": True}, "sampled": {"samples": 2}}.get(name, {})
    layer = create_attention(name, 8, 2, **options).double().eval()
    (here, there), order = (points_with_ties(2, n)[:, : n - 3].double() for n in (12, 20)), torch.randperm(17)
    x, context = (points @ torch.randn(3, 8, dtype=torch.float64) for points in (here, there))
    expected = layer(x, here, context=context, context_positions=there)
    found = layer(x, here, context=context[:, order], context_positions=there[:, order])
    torch.testing.assert_close(found, expected)
    turned = torch.arange(8, -1, -1)
    found = layer(x[:, turned], here[:, turned], context=context, context_positions=there)
    torch.testing.assert_close(found, expected[:, turned])


def test_without_positions_or_keyed_by_places_the_order_chooses_the_cycle() -> None:
    layer, x, positions, order = layer_and_points("sampled")
    assert not torch.allclose(layer(x[:, order]), layer(x)[:, order])
    torch.testing.assert_close(layer(x), key_by(layer, "places")(x, positions))
    assert not torch.allclose(layer(x[:, order], positions[:, order]), layer(x, positions)[:, order])
    key_by(layer, "points")
    found, expected = layer(x[:, order], positions[:, order]), layer(x, positions)
    torch.testing.assert_close(by_place_in_space(found, positions[:, order]), by_place_in_space(expected, positions))


def test_heads_layers_seeds_and_samples_walk_cycles_of_their_own() -> None:
    layer, x, positions, _ = layer_and_points("sampled")
    first = layer(x, positions)
    for change in ({"layer": 1}, {"seed": 1}, {"samples": 2}, {"cycles": "per-head"}):
        other = create_attention("sampled", 8, 2, **change).double().eval()
        other.load_state_dict(layer.state_dict())
        assert not torch.allclose(other(x, positions), first), change


def network_and_points(model: str, attention: str, options: dict[str, Any]) -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(0)
    network = create_model(model, classes=5, attention=attention, attention_options=options, **NETWORKS[model])
    return network.eval(), points_with_ties(3, 40), torch.randperm(40)


@pytest.mark.parametrize(("model", "attention", "options"), CASES, ids=str)
def test_a_network_gives_the_same_answer_in_any_order(model: str, attention: str, options: dict[str, Any]) -> None:
    network, points, order = network_and_points(model, attention, options)
    with torch.no_grad():
        expected = network(points).softmax(1)
        torch.testing.assert_close(network(points[:, order]).softmax(1), expected, rtol=0, atol=1e-5)
        torch.testing.assert_close(network(points.flip(1)).softmax(1), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("model", ["basic", "set-transformer"])
def test_a_network_gives_the_same_answer_in_any_form_and_order(model: str) -> None:
    network, points, order = network_and_points(model, "sampled", {})
    expected, shuffled = network(points), points[:, order]
    padded = torch.cat([torch.full_like(points[:, :4], 7.0), shuffled], 1)
    mask = torch.arange(44).expand(3, 44) >= 4
    torch.testing.assert_close(network(padded, mask=mask), expected, rtol=0, atol=1e-5)
    torch.testing.assert_close(network(shuffled.flatten(0, 1), ptr=[0, 40, 80, 120]), expected, rtol=0, atol=1e-5)
    nested = torch.nested.nested_tensor(list(shuffled), layout=torch.jagged)
    torch.testing.assert_close(network(nested), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("model", ["hierarchical", "mae-classifier", "set-transformer"])
def test_networks_keyed_by_places_depend_on_the_order(model: str) -> None:
    options = {"reading": "rows"} if model == "set-transformer" else {}
    network, points, order = network_and_points(model, "induced" if options else "none", options)
    key_by(network, "places")
    assert not torch.allclose(network(points), network(points[:, order]), atol=1e-4)


def test_training_still_draws_by_chance() -> None:
    network, points, _ = network_and_points("basic", "sampled", {})
    network.train()
    torch.manual_seed(0)
    first = network(points)
    torch.manual_seed(0)
    again = network(points)
    torch.manual_seed(1)
    assert torch.equal(first, again)
    assert not torch.allclose(network(points), first)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["basic", "hierarchical", "set-transformer"])
def test_a_compiled_network_gives_the_same_answer_in_any_order(model: str) -> None:
    network, points, order = network_and_points(model, "sampled", {})
    compiled = torch.compile(network, backend="aot_eager")
    with torch.no_grad():
        expected = network(points)
        torch.testing.assert_close(compiled(points), expected, rtol=0, atol=1e-5)
        torch.testing.assert_close(compiled(points[:, order]), expected, rtol=0, atol=1e-5)
