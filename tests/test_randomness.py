"""Which layers are random, and how their cycles are fixed."""

from __future__ import annotations

import pytest
import torch
from helpers.variants import RANDOM, VARIANTS, build, cloud
from torch import nn

from sampled_transformer import create_model, cycle_seed, key_by
from sampled_transformer.randomness import VARIABLE, is_random, random_layers


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_layer_says_whether_it_is_random(variant: str) -> None:
    """Random layers answer otherwise for another seed, the others have none that matters."""
    layer = build(variant).eval()
    assert layer.is_random == (variant in RANDOM) == is_random(layer)
    x, positions = cloud(2, 33)
    with cycle_seed(layer, 1):
        one = layer(x, positions)
    with cycle_seed(layer, 2):
        two = layer(x, positions)
    assert torch.equal(one, two) != layer.is_random


def test_seeds_come_back_even_after_an_error() -> None:
    network = nn.Sequential(build("sampled", seed=3), build("dense"), build("induced-sampled", seed=4))
    assert len(random_layers(network)) == 2
    seen = []

    def fail() -> None:
        with cycle_seed(network, 7):
            seen.extend(layer.seed for layer in random_layers(network))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert seen == [7, 7]
    assert [layer.seed for layer in random_layers(network)] == [3, 4]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"attention": "dense"}, False),
        ({"attention": "sampled"}, True),
        ({}, False),
        ({"attention_options": {"reading": "rows"}}, True),
        ({"attention_options": {"reading": "columns"}}, True),
    ],
)
def test_set_transformers_say_it_too(options: dict, expected: bool) -> None:
    network = create_model("set-transformer", classes=3, dim=16, **options).eval()
    assert is_random(network) == expected
    points = torch.randn(2, 40, 3)
    with cycle_seed(network, 1):
        one = network(points)
    with cycle_seed(network, 2):
        two = network(points)
    assert torch.equal(one, two) != expected


def test_a_network_is_keyed_by_points_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    network = nn.Sequential(build("sampled"), build("induced-sampled"), build("dense"))
    assert [layer.keyed_by for layer in random_layers(network)] == ["points", "points"]
    assert key_by(network, "places") is network
    assert [layer.keyed_by for layer in random_layers(network)] == ["places", "places"]
    monkeypatch.setenv(VARIABLE, "places")
    assert build("sampled").keyed_by == "places"
    assert build("sampled", keyed_by="points").keyed_by == "points"
    assert create_model("hierarchical", classes=2).keyed_by == "places"


def test_words_that_key_nothing_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="keyed_by: expected one of points, places, got 'place'"):
        build("sampled", keyed_by="place")
    with pytest.raises(ValueError, match="keyed_by: expected one of points, places, got 'order'"):
        key_by(build("sampled"), "order")
    monkeypatch.setenv(VARIABLE, "order")
    with pytest.raises(ValueError, match=f"{VARIABLE}: expected one of points, places, got 'order'"):
        build("sampled")
