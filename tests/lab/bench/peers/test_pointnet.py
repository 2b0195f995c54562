"""PointNet: what its penalty measures."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer_lab.bench.peers.pointnet import PointNet


def test_the_penalty_vanishes_for_rotations() -> None:
    network = PointNet(3)
    network(torch.randn(2, 16, 3))
    assert network.penalty.item() == pytest.approx(0, abs=1e-6)
    torch.nn.init.ones_(network.turn_features.matrix.bias)
    network(torch.randn(2, 16, 3))
    assert network.penalty.item() > 1
