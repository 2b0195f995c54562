"""The feed-forward layer: its formula, and that nothing writes into what a module returned."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sampled_transformer.layers.feed_forward import FeedForward, is_hooked


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("hooked", [False, True])
def test_equals_its_formula_with_and_without_hooks(activation: str, hooked: bool) -> None:
    torch.manual_seed(0)
    layer = FeedForward(8, 12, activation=activation, bias=True).double()
    if hooked:
        layer.expand.register_forward_hook(lambda module, args, output: None)
    x = torch.randn(100, 8, dtype=torch.float64, requires_grad=True)
    hidden = nn.functional.linear(x, layer.expand.weight, layer.expand.bias)
    expected = nn.functional.linear(
        getattr(nn.functional, activation)(hidden), layer.contract.weight, layer.contract.bias
    )
    torch.testing.assert_close(layer(x), expected, rtol=0, atol=1e-12)
    weights = list(layer.parameters())
    ours, theirs = (torch.autograd.grad(y.square().sum(), [x, *weights]) for y in (layer(x), expected))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def test_a_hook_sees_the_hidden_values_before_the_relu() -> None:
    layer, seen = FeedForward(8), []
    layer.expand.register_forward_hook(lambda module, args, output: seen.append(output))
    x = torch.randn(100, 8)
    layer(x)
    assert torch.equal(seen[0], nn.functional.linear(x, layer.expand.weight))
    assert (seen[0] < 0).any()


def test_another_module_in_place_of_the_first_layer_is_called() -> None:
    layer = FeedForward(8)
    layer.expand = nn.Sequential(layer.expand, nn.Dropout(1.0))  # as adapters do
    assert (layer(torch.randn(5, 8)) == 0).all()


def test_hooks_are_noticed() -> None:
    module = nn.Linear(2, 2)
    assert not is_hooked(module)
    handle = module.register_forward_pre_hook(lambda module, args: None)
    assert is_hooked(module)
    handle.remove()
    everywhere = nn.modules.module.register_module_forward_hook(lambda module, args, output: None)
    assert is_hooked(module)
    everywhere.remove()
    assert not is_hooked(module)


def test_bad_options_are_named() -> None:
    with pytest.raises(ValueError, match="activation: expected one of relu, gelu, got 'tanh'"):
        FeedForward(8, activation="tanh")
    with pytest.raises(ValueError, match="hidden: expected at least 1, got 0"):
        FeedForward(8, 0)
