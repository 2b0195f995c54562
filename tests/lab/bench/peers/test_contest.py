"""The contest: it ends with its wall time, and its figures are those of the network."""

from __future__ import annotations

import time

import pytest
import torch

from sampled_transformer.data import load_data
from sampled_transformer_lab.bench.peers import PEERS, RATES
from sampled_transformer_lab.bench.peers.contest import CLOCKS, Recipe, accuracy_of, factor, time_of_one, train_for

# As reported in the papers or by their public code, in millions.
MILLIONS = {"PointNet": 3.47, "PointNet++ (SSG)": 1.48, "DGCNN": 1.81}
RECIPE = Recipe(points=32, batch=16)


class Clock:
    """A clock on which every look takes ten seconds."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 10
        return self.now


def test_training_ends_with_its_wall_time_and_can_go_through_epochs() -> None:
    pack = load_data("bricks", "test")
    pack = pack.select(pack.labels < 2)
    network = PEERS["pyramid (ours)"](len(pack.classes))
    before = network.stem[0].weight.clone()
    found = train_for(network, pack, 2.0, 1e-3, RECIPE, Clock())
    assert found["steps"] == 11
    assert found["epochs"] == pytest.approx(11 / -(-len(pack) // 16))
    assert not torch.equal(before, network.stem[0].weight)
    assert 0 <= accuracy_of(network, pack, RECIPE) <= 1
    assert time_of_one(network, torch.randn(1, 32, 3), 3) > 0


def test_the_clock_of_the_processor_does_not_count_what_others_take() -> None:
    begin = {name: clock() for name, clock in CLOCKS.items()}
    time.sleep(0.5)  # as long as another program would have the core
    passed = {name: clock() - begin[name] for name, clock in CLOCKS.items()}
    assert passed["processor"] < 0.25 < 0.5 <= passed["wall"]


def test_the_rate_rises_and_falls_to_zero() -> None:
    assert [factor(share) for share in (0, 0.05, 0.1)] == pytest.approx([0, 0.5, 1])
    assert factor(0.55) == pytest.approx(0.5)
    assert factor(1) == pytest.approx(0)


@pytest.mark.parametrize("name", PEERS)
def test_every_peer_has_its_size_and_trains(name: str) -> None:
    torch.manual_seed(0)
    network = PEERS[name](40)
    parameters = sum(parameter.numel() for parameter in network.parameters())
    if name in MILLIONS:
        assert parameters / 1e6 == pytest.approx(MILLIONS[name], abs=0.02)
    points = torch.randn(2, 64, 3)
    (network(points).square().sum() + getattr(network, "penalty", 0)).backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    shuffled = points[:, torch.randperm(64)]
    if name != "PointNet++ (SSG)":  # it begins its farthest points at the first point
        network.eval()
        torch.testing.assert_close(network(points), network(shuffled), rtol=1e-4, atol=1e-4)
    assert RATES[name] > 0
