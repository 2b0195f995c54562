"""DGCNN: an edge convolution against a loop."""

from __future__ import annotations

import torch

from sampled_transformer_lab.bench.peers.dgcnn import EdgeConvolution, near


def test_an_edge_convolution_is_the_largest_of_its_neighbours() -> None:
    torch.manual_seed(0)
    x = torch.randn(1, 9, 2)
    layer = EdgeConvolution(2, 5, 3).eval()
    out = layer(x)
    for i in range(9):
        nearest = sorted(range(9), key=lambda j: float((x[0, j] - x[0, i]).norm()))[:3]
        assert sorted(near(x, 3)[0, i].tolist()) == sorted(nearest)
        rows = [layer.layer(torch.cat([x[0, j] - x[0, i], x[0, i]])[None]) for j in nearest]
        torch.testing.assert_close(out[0, i], torch.cat(rows).amax(0))
