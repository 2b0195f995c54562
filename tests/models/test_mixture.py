from __future__ import annotations

import pytest
import torch

from sampled_transformer import create_model
from sampled_transformer.clustering.likelihood import log_likelihood
from sampled_transformer.data.sources.gaussians import sample_mixtures
from sampled_transformer.models.mixture import MixtureNetwork

SMALL = {"dim": 16}
NETWORKS = {
    "pooling": ("pooling-mixture", {}),
    "induced": ("set-transformer-mixture", {"attention_options": {"inducing": 4}}),
    "rows": ("set-transformer-mixture", {"attention_options": {"inducing": 4, "reading": "rows"}}),
    "columns": ("set-transformer-mixture", {"attention_options": {"inducing": 4, "reading": "columns"}}),
    "sampled": ("set-transformer-mixture", {"attention": "sampled"}),
}
every = pytest.mark.parametrize("name", NETWORKS)


def build(name: str, **more: object) -> MixtureNetwork:
    torch.manual_seed(0)
    model, options = NETWORKS[name]
    network = create_model(model, **SMALL, **options, **more)
    assert isinstance(network, MixtureNetwork)
    return network.eval()


@every
@pytest.mark.parametrize(("inputs", "components"), [(2, 4), (5, 3), (1, 1)])
def test_gives_a_mixture_for_each_set(name: str, inputs: int, components: int) -> None:
    network = build(name, inputs=inputs, components=components)
    log_weights, means, deviations = network(torch.randn(3, 40, inputs))
    assert log_weights.shape == (3, components)
    assert means.shape == deviations.shape == (3, components, inputs)
    torch.testing.assert_close(log_weights.exp().sum(-1), torch.ones(3))
    assert (deviations > 0).all()


@every
def test_sets_of_all_forms_and_sizes(name: str) -> None:
    network = build(name)
    sizes = [5, 0, 1, 60, 33]
    points = torch.randn(sum(sizes), 2, generator=torch.Generator().manual_seed(0))
    packed = network(points, ptr=torch.tensor([0, *sizes]).cumsum(0))
    mask = torch.arange(60) < torch.tensor(sizes)[:, None]
    padded = network(torch.full((5, 60, 2), torch.nan).index_put((mask,), points), mask)
    for number, part in enumerate(points.split(sizes)):
        alone = network(part[None])
        for one, two, three in zip(alone, packed, padded, strict=True):
            assert one.isfinite().all()
            torch.testing.assert_close(two[number], one[0], rtol=1e-5, atol=1e-5)
            torch.testing.assert_close(three[number], one[0], rtol=1e-5, atol=1e-5)
    assert network(points[:0], ptr=torch.tensor([0])).means.shape == (0, 4, 2)


@every
def test_learns(name: str) -> None:
    network = build(name).train()
    optimiser = torch.optim.Adam(network.parameters(), 3e-3)
    generator = torch.Generator().manual_seed(0)
    values = []
    for _ in range(60):
        points = sample_mixtures(10, 50, generator).points
        value = log_likelihood(points, network(points)).mean()
        optimiser.zero_grad()
        (-value).backward()
        optimiser.step()
        values.append(value.item())
    assert sum(values[-10:]) > sum(values[:10]) + 10  # one nat per point


def test_pooling_does_not_see_the_order() -> None:
    network = build("pooling")
    points = torch.randn(2, 30, 2)
    for one, two in zip(network(points), network(points[:, torch.randperm(30)]), strict=True):
        torch.testing.assert_close(one, two)


def test_has_the_sizes_of_the_table() -> None:
    def count(module: torch.nn.Module) -> int:
        return sum(parameter.numel() for parameter in module.parameters())

    network = create_model("set-transformer-mixture")
    square, first = 128 * 128 + 128, 2 * 128 + 128
    blocks = (16 * 128 + 5 * square + 3 * first) + (16 * 128 + 8 * square)
    assert count(network.encoder.blocks) == blocks
    assert count(network.encoder.pool) == 4 * 128 + 4 * square
    assert count(network.decoder) == 2 * 4 * square
    assert tuple(network.head.weight.shape) == (5, 128)
    pooling = create_model("pooling-mixture")
    assert count(pooling) == first + 6 * square + 20 * 128 + 20


def test_bad_input_is_named() -> None:
    network = build("induced")
    with pytest.raises(ValueError, match="points: expected 2 coordinates, as the network was built for, got 3"):
        network(torch.zeros(1, 5, 3))
    with pytest.raises(ValueError, match="points: expected finite"):
        network(torch.full((1, 5, 2), torch.inf))
    with pytest.raises(ValueError, match="inputs, components: expected at least 1"):
        build("pooling", components=0)
    for value in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match=f"smallest_deviation: expected a finite number from 0 on, got {value}"):
            build("induced", smallest_deviation=value)
