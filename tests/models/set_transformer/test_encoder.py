from __future__ import annotations

import pytest
import torch
from helpers.set_transformer import DIM, HEADS, RANDOM, VARIANTS, seeded

from sampled_transformer.models.set_transformer import SetEncoder


def test_columns_do_not_follow_the_order_of_the_points() -> None:
    """Sorted points fall into heaps at random: all heaps have about the same mean."""
    encoder = SetEncoder(1, DIM, HEADS, 1, 1, inducing=4, reading="columns").eval()
    points = torch.arange(400.0)[None, :, None]
    shuffled, mask = encoder.shuffle(points, None)
    assert mask is None
    assert torch.equal(shuffled.sort(1).values, points)
    assert (shuffled.view(4, 100).mean(1) - 199.5).abs().max() < 50  # four standard errors
    trained = encoder.train().shuffle(points, None)[0]
    assert not torch.equal(trained, encoder.shuffle(points, None)[0])


def test_shuffled_padding_comes_last() -> None:
    encoder = SetEncoder(1, DIM, HEADS, 1, 1, inducing=4, reading="columns")
    mask = torch.tensor([[False, True, True, False, True], [False] * 5])
    points = torch.arange(10.0).view(2, 5, 1)
    for training in (True, False):
        shuffled, real = encoder.train(training).shuffle(points, mask)
        assert real.tolist() == [[True] * 3 + [False] * 2, [False] * 5]
        assert sorted(shuffled[0, :3, 0].tolist()) == [1, 2, 4]


def test_layers_read_different_points() -> None:
    encoder = SetEncoder(2, DIM, HEADS, 3, 1, inducing=4, reading="rows").eval()
    draws = [block.draw(seeded(1, 500, 2), None) for block in encoder.blocks]
    assert not torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[1], draws[2])
    numbers = [block.attention.layer for block in SetEncoder(2, DIM, HEADS, 3, 1, "sampled").blocks]
    assert numbers == [0, 1, 2]


@pytest.mark.parametrize("variant", VARIANTS)
def test_random_layers_say_so(variant: str) -> None:
    """A network is random where the output of some layer follows its seed."""
    encoder = SetEncoder(2, DIM, HEADS, 2, 1, **VARIANTS[variant]).eval()
    assert encoder.is_random == (variant == "columns")
    layers = [module for module in encoder.modules() if getattr(module, "is_random", False)]
    if "attention" not in VARIANTS[variant]:
        assert bool(layers) == (variant in RANDOM)
    points = seeded(1, 40, 2)
    before = encoder(points)
    for layer in layers:
        layer.seed = 5
    assert torch.equal(encoder(points), before) == (not layers)


def test_an_empty_set_gives_what_padding_alone_gives() -> None:
    encoder = SetEncoder(2, DIM, HEADS, 2, 3, inducing=4).eval()
    empty = encoder(torch.zeros(2, 0, 2))
    assert empty.shape == (2, 3, DIM)
    padded = encoder(torch.zeros(2, 4, 2), torch.zeros(2, 4, dtype=torch.bool))
    torch.testing.assert_close(padded, empty)


def test_unknown_attention_and_bad_sizes_are_named() -> None:
    with pytest.raises(ValueError, match=r"^attention: expected one of induced, dense, sampled, sparse, got 'knn'"):
        SetEncoder(2, DIM, HEADS, 1, 1, "knn")
    with pytest.raises(ValueError, match=r"got 'induceing'; did you mean 'inducing'"):
        SetEncoder(2, DIM, HEADS, 1, 1, induceing=4)
    with pytest.raises(ValueError, match=r"^inputs, depth: expected at least 1, got 0 and 1"):
        SetEncoder(0, DIM, HEADS, 1, 1)
    with pytest.raises(ValueError, match=r"^seeds: expected at least 1, got 0"):
        SetEncoder(2, DIM, HEADS, 1, 0)
