"""Layers of rows."""

from __future__ import annotations

import torch

from sampled_transformer_lab.bench.peers.layers import PointLayers


def test_rows_of_any_shape_pass_the_same_layers() -> None:
    torch.manual_seed(0)
    layers = PointLayers([3, 5, 4], slope=0.5).eval()
    x = torch.randn(2, 6, 3)
    out = layers(x)
    assert out.shape == (2, 6, 4)
    linear, norm = layers.layers[3], layers.layers[4]
    hidden = torch.where((first := layers.layers[1](layers.layers[0](x[1]))) > 0, first, 0.5 * first)
    last = norm(linear(hidden))
    torch.testing.assert_close(out[1], torch.where(last > 0, last, 0.5 * last))
