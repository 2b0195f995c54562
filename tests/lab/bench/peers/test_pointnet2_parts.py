"""PointNet++ for parts: the size, and the way back up against a loop."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer_lab.bench.peers.pointnet2_parts import PointNet2Parts, spread


def test_features_of_the_three_nearest_centres_are_spread() -> None:
    generator = torch.Generator().manual_seed(0)
    points, centres, x = (torch.randn(2, n, w, generator=generator) for n, w in ((9, 3), (5, 3), (5, 4)))
    found = spread(points, centres, x)
    assert found.shape == (2, 9, 4)
    for number in range(2):
        for row in range(9):
            distance = (centres[number] - points[number, row]).norm(dim=1)
            nearest = distance.argsort()[:3]
            weight = 1 / (distance[nearest] + 1e-8)
            expected = (weight[:, None] * x[number, nearest]).sum(0) / weight.sum()
            torch.testing.assert_close(found[number, row], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("features", [0, 3])
def test_packed_sets_have_logits_per_point_and_every_parameter_learns(features: int) -> None:
    torch.manual_seed(0)
    network = PointNet2Parts(5, features)
    given = {"normals": torch.randn(128, features)} if features else {}
    logits = network(torch.randn(128, 3), given, torch.tensor([0, 64, 128]))
    assert logits.shape == (128, 5)
    logits.square().sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
