from __future__ import annotations

import torch
from torch import nn

from sampled_transformer.layers.mlp import classification_head, relu_layers


def test_relu_layers_are_linear_and_relu_in_turn() -> None:
    one, relu, two, last = relu_layers([3, 5, 4], bias=False)
    assert isinstance(relu, nn.ReLU)
    assert isinstance(last, nn.ReLU)
    x = torch.randn(2, 7, 3)
    expected = torch.relu(torch.relu(x @ one.weight.T) @ two.weight.T)
    torch.testing.assert_close(nn.Sequential(one, relu, two, last)(x), expected)
    assert one.bias is two.bias is None
    assert relu_layers([3, 5])[0].bias is not None
    assert relu_layers([3]) == []


def test_the_head_is_hidden_layers_and_one_linear_layer() -> None:
    torch.manual_seed(0)
    head = classification_head([6, 5, 4], 3, dropout=0.5).eval()
    x = torch.randn(8, 6)
    expected = x
    for linear, norm in ((head[0], head[1]), (head[4], head[5])):
        nn.init.normal_(norm.running_mean)
        expected = linear(expected) - norm.running_mean
        expected = torch.relu(expected / (norm.running_var + norm.eps).sqrt() * norm.weight + norm.bias)
    torch.testing.assert_close(head(x), head[8](expected))
    assert head(x).shape == (8, 3)
    assert [layer.p for layer in head if isinstance(layer, nn.Dropout)] == [0.5, 0.5]


def test_a_head_without_hidden_layers_is_linear() -> None:
    head = classification_head([6], 3, dropout=0.5)
    assert [type(layer) for layer in head] == [nn.Linear]
