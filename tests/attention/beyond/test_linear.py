"""Linear attention."""

from __future__ import annotations

import torch

from sampled_transformer import create_attention

DIM, HEADS = 16, 4


def test_linear_attention_ignores_scale_and_reads_everything() -> None:
    torch.manual_seed(0)
    layer = create_attention("linear", DIM, HEADS, scale=5.0)
    other = create_attention("linear", DIM, HEADS)
    other.load_state_dict(layer.state_dict())
    x = torch.randn(1, 30, DIM, requires_grad=True)
    assert torch.equal(layer(x), other(x))
    (grad,) = torch.autograd.grad(layer(x)[0, 0].sum(), x)
    assert (grad[0].abs().amax(1) > 0).all()
