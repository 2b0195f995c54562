from __future__ import annotations

import pytest
import torch
from helpers.set_transformer import DIM, HEADS, RANDOM, VARIANTS, seeded

from sampled_transformer import create_model
from sampled_transformer.data.transforms import PRESETS
from sampled_transformer.training.recipes import list_recipes, read_recipe
from sampled_transformer.training.settings import DataOptions, OptimiserOptions

every = pytest.mark.parametrize("variant", VARIANTS)


def classifier(variant: str) -> torch.nn.Module:
    torch.manual_seed(0)
    options = dict(VARIANTS[variant])
    attention = options.pop("attention", "induced")
    return create_model(
        "set-transformer", classes=6, attention=attention, dim=DIM, heads=HEADS, attention_options=options
    ).eval()


@every
def test_plain_padded_and_packed_agree(variant: str) -> None:
    network = classifier(variant)
    points = seeded(3, 20, 3)
    expected = network(points)
    assert expected.shape == (3, 6)
    packed = network(points.flatten(0, 1), ptr=torch.arange(4) * 20)
    torch.testing.assert_close(packed, expected, rtol=1e-5, atol=1e-5)
    mask = torch.zeros(3, 25, dtype=torch.bool)
    mask[:, 3:23] = True
    wide = torch.full((3, 25, 3), torch.nan).index_put((mask,), points.flatten(0, 1))
    torch.testing.assert_close(network(wide, mask=mask), expected, rtol=1e-5, atol=1e-5)


@every
def test_packed_sets_are_those_alone(variant: str) -> None:
    network = classifier(variant)
    sizes = [7, 0, 1, 40, 6, 2]
    points = seeded(sum(sizes), 3)
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    found = network(points, ptr=ptr)
    for number, part in enumerate(points.split(sizes)):
        torch.testing.assert_close(found[number], network(part[None])[0], rtol=1e-5, atol=1e-5)


@every
@pytest.mark.parametrize("n", [0, 1, 2, 33])
def test_gradients_reach_everything_and_are_finite(variant: str, n: int) -> None:
    network = classifier(variant).train()
    for mask in (None, torch.zeros(2, n, dtype=torch.bool)):
        network.zero_grad()
        out = network(seeded(2, n, 3), mask=mask)
        assert out.isfinite().all()
        out.square().sum().backward()
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name


@every
def test_evaluation_is_repeatable_and_training_is_not(variant: str) -> None:
    network = classifier(variant)
    points = seeded(2, 60, 3)
    torch.manual_seed(1)
    first = network(points)
    torch.manual_seed(2)
    assert torch.equal(network(points), first)
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    network.train()
    differs = not torch.allclose(network(points), network(points), atol=1e-6)
    assert differs == (variant in RANDOM)


def test_has_the_sizes_of_lee_et_al() -> None:
    network = create_model("set-transformer", classes=40)
    shapes = {name: tuple(parameter.shape) for name, parameter in network.named_parameters()}
    assert shapes["encoder.blocks.0.inducing"] == shapes["encoder.blocks.1.inducing"] == (16, 256)
    assert shapes["encoder.blocks.0.mab0.key.weight"] == (256, 3)
    assert shapes["encoder.blocks.1.mab0.key.weight"] == (256, 256)
    assert shapes["encoder.pool.seeds"] == (1, 256)
    assert shapes["head.weight"] == (40, 256)
    assert [module.p for module in network.modules() if isinstance(module, torch.nn.Dropout)] == [0.5, 0.5]


def test_normals_are_further_features() -> None:
    network = create_model("set-transformer", classes=3, dim=DIM, heads=HEADS, normals=True).eval()
    points, normals = seeded(2, 9, 3), seeded(2, 9, 3, seed=1)
    assert not torch.equal(network(points, normals), network(points, points))
    with pytest.raises(ValueError, match=r"normals: expected one per point, of shape \(2, 9, 3\), got None"):
        network(points)
    with pytest.raises(ValueError, match="normals: expected None, as the network reads positions alone, got torch"):
        create_model("set-transformer", classes=3)(points, normals)


def test_bad_arguments_are_named() -> None:
    for options, message in (
        ({"heads": 3}, "heads: expected a divisor of dim=16, got 3"),
        ({"depth": 0}, "inputs, depth: expected at least 1"),
        ({"attention": "knn"}, "attention: expected one of induced, dense, sampled, sparse, got 'knn'"),
        ({"attention_options": {"reading": "half"}}, "reading: expected one of all, rows, columns"),
        ({"attention_options": {"reading": "rows", "pairs": "none"}}, "pairs: expected one of own, shared, got 'none'"),
        ({"attention_options": {"inducing": 0}}, "inducing: expected at least 1"),
        ({"attention_options": {"reading": "columns", "kept": 17}}, "kept: expected 1 to 16"),
        ({"classes": 0}, "classes: expected at least 1"),
    ):
        with pytest.raises(ValueError, match=f"^{message}"):
            create_model("set-transformer", **{"classes": 3, "dim": DIM, **options})
    network = create_model("set-transformer", classes=3, dim=DIM)
    with pytest.raises(ValueError, match="points: expected 3 coordinates, as the network was built for, got 2"):
        network(seeded(1, 4, 2))
    with pytest.raises(ValueError, match="finite"):
        network(torch.full((1, 4, 3), torch.nan))


@pytest.mark.parametrize("name", [name for name in list_recipes() if name.startswith("set-transformer-")])
def test_recipes_build_the_network_of_the_table(name: str) -> None:
    tree = read_recipe(name)
    assert (tree["recipe"], tree["model"]) == (name, "set-transformer")
    OptimiserOptions(**tree["optimiser"])
    assert not DataOptions("modelnet40", **tree["data"]).normals
    assert tree["data"]["preset"] in PRESETS
    network = create_model("set-transformer", classes=40, attention=tree["attention"], **tree.get("options", {}))
    expected = {"set-transformer-induced": "all", "set-transformer-rows": "rows"}[name]
    assert [block.reading for block in network.encoder.blocks] == [expected] * 2
