"""PointNet++: balls against a loop."""

from __future__ import annotations

import torch

from sampled_transformer_lab.bench.peers.pointnet2 import ball


def test_a_ball_holds_the_first_points_within_its_radius() -> None:
    points = torch.randn(1, 30, 3, generator=torch.Generator().manual_seed(0))
    centres = points[:, :5]
    members = ball(points, centres, 1.0, 4)
    for centre, found in zip(centres[0], members[0].tolist(), strict=True):
        inside = [j for j in range(30) if float((points[0, j] - centre).norm()) <= 1.0][:4]
        assert found == inside + inside[:1] * (4 - len(inside))
