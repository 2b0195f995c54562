"""What docs/numbers.md promises to be equal to the bit, and what it lists as exceptions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import sampled_transformer
from sampled_transformer.inference.trained_network import TrainedNetwork

SETS = [np.random.default_rng(number).normal(size=(300 + number, 3)) for number in range(5)]


@pytest.fixture(scope="module")
def network() -> TrainedNetwork:
    return sampled_transformer.load("bricks", "cpu")


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_alone_or_among_others_in_any_order(network: TrainedNetwork) -> None:
    together = network.probabilities(SETS, samples=2).mean
    turned = network.probabilities(SETS[::-1], samples=2).mean[::-1]
    alone = [network.probabilities(one, samples=2).mean for one in SETS]
    assert np.array_equal(together, turned)
    assert np.array_equal(together, np.stack(alone))


def test_in_batches_up_to_rounding(network: TrainedNetwork) -> None:
    batched = sampled_transformer.load("bricks", "cpu", batch=3)
    together = batched.probabilities(SETS, samples=2).mean
    assert np.array_equal(together, batched.probabilities(SETS, samples=2).mean)  # the same batches, the same bits
    np.testing.assert_allclose(together, network.probabilities(SETS, samples=2).mean, atol=1e-5)


@pytest.mark.usefixtures("threads")
def test_one_and_two_threads_up_to_rounding(network: TrainedNetwork) -> None:
    found = []
    for count in (1, 2):
        torch.set_num_threads(count)
        found.append(network.probabilities(SETS[0], samples=2).mean)
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)
    assert found[0].argmax() == found[1].argmax()
