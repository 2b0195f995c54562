"""The contract's own parts: projections, numbering, weights of torch's layer, choices."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sampled_transformer import DenseAttention, TransformerBlock, number_layers
from sampled_transformer.attention.base import check_choice


def test_torch_s_own_layer_gives_its_weights_to_dense_attention() -> None:
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(16, 4, batch_first=True)
    nn.init.normal_(theirs.in_proj_bias)
    ours = DenseAttention(16, 4, bias=True)
    ours.load_multihead(theirs)
    x = torch.randn(2, 7, 16)
    torch.testing.assert_close(ours(x), theirs(x, x, x)[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("theirs", "message"),
    [
        (nn.MultiheadAttention(8, 4), "other: expected self-attention of width 16, got width 8"),
        (nn.MultiheadAttention(16, 2), "other: expected 4 heads with biases, got 2 heads"),
        (nn.MultiheadAttention(16, 4, bias=False), "other: expected 4 heads with biases, got 4 heads and bias=False"),
    ],
)
def test_weights_of_another_shape_are_refused(theirs: nn.MultiheadAttention, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DenseAttention(16, 4, bias=True).load_multihead(theirs)


def test_layers_are_numbered_in_the_order_of_the_modules() -> None:
    network = number_layers(nn.Sequential(TransformerBlock(8, 2), nn.ReLU(), TransformerBlock(8, 2, "dense")))
    assert [network[0].attention.layer, network[2].attention.layer] == [0, 1]


def test_a_packed_batch_is_cut_into_sets_that_do_not_depend_on_each_other() -> None:
    torch.manual_seed(0)
    layer = DenseAttention(8, 2).double()
    x, ptr = torch.randn(10, 8, dtype=torch.float64), torch.tensor([0, 1, 1, 7, 10], dtype=torch.int32)
    expected = torch.cat([layer(x[None, a:b])[0] for a, b in ((0, 1), (1, 7), (7, 10))])
    torch.testing.assert_close(layer(x, ptr=ptr), expected, rtol=0, atol=1e-12)


def test_a_wrong_choice_is_named_with_the_choices() -> None:
    check_choice("inner", "dense", ("hamiltonian", "dense"))
    with pytest.raises(ValueError, match="inner: expected one of hamiltonian, dense, got 'ring'"):
        check_choice("inner", "ring", ("hamiltonian", "dense"))
