"""Summed attention: sums over the whole set, and local windows."""

from __future__ import annotations

import torch

from sampled_transformer import SampledAttention, SummedAttention, create_attention

DIM, HEADS = 16, 4


def test_summed_attention_reads_every_point_and_is_left_to_no_chance() -> None:
    torch.manual_seed(0)
    layer = create_attention("summed", DIM, HEADS)
    x = torch.randn(2, 30, DIM, requires_grad=True)
    assert torch.equal(layer(x), layer(x))  # in training, without positions
    (grad,) = torch.autograd.grad(layer(x)[0, 0].sum(), x)
    assert (grad[0].abs().amax(1) > 0).all()
    assert (grad[1] == 0).all()


def test_large_features_of_summed_attention_pick_one_point() -> None:
    """Of each feature, the point where the key has it most: with sharp queries the answer is one point's value."""
    layer = create_attention("summed", 1, 1, head_dim=2).double()
    with torch.no_grad():
        layer.query.weight.copy_(torch.tensor([[1e3], [-1e3]]))  # a positive point asks for the first feature
        layer.key.weight.copy_(torch.tensor([[1e3], [-1e3]]))  # the largest point has it, the smallest the second
        layer.value.weight.fill_(1)
        layer.output.weight.fill_(0.5)
    x = torch.tensor([[[1.0], [-2.0], [3.0], [-0.5]]], dtype=torch.float64)
    expected = torch.tensor([[[3.0], [-2.0], [3.0], [-2.0]]], dtype=torch.float64)
    torch.testing.assert_close(layer(x), expected)


def test_local_heads_see_near_points_only() -> None:
    """All heads local: two far clusters of as many points as a window holds do not see each other."""
    torch.manual_seed(0)
    layer = create_attention("summed", DIM, HEADS, local=HEADS, window=8).eval()
    x = torch.randn(1, 40, DIM, requires_grad=True)
    positions = torch.cat([torch.rand(20, 3), torch.rand(20, 3) + 100])[None]
    (grad,) = torch.autograd.grad(layer(x, positions)[0, :20].sum(), x)
    seen = grad[0].abs().amax(1) > 0
    assert seen[:20].all()
    assert seen[20:].sum() <= 8  # the one window that the curve leads from one to the other


def test_only_local_heads_are_random() -> None:
    assert not SummedAttention(DIM, HEADS).is_random
    assert SummedAttention(DIM, HEADS, local=1).is_random
    assert not isinstance(SummedAttention(DIM, HEADS), SampledAttention)


def test_recorded_options_of_sampled_attention_still_lead_here() -> None:
    everything = create_attention("sampled", DIM, HEADS, summed=HEADS)
    assert isinstance(everything, SummedAttention)
    assert everything.local == 0
    windows = create_attention("sampled", DIM, HEADS, summed=3, order="hilbert", inner="dense", subset=5, seed=7)
    assert isinstance(windows, SummedAttention)
    assert (windows.local, windows.window, windows.seed) == (1, 5, 7)
