"""No attention."""

from __future__ import annotations

import torch

from sampled_transformer import NoAttention


def test_adds_nothing_and_has_no_parameters() -> None:
    layer = NoAttention(8, 2)
    assert not list(layer.parameters())
    assert (layer(torch.randn(2, 5, 8)) == 0).all()
