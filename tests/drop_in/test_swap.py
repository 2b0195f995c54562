"""Whole networks from torch's layers to ours and back."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sampled_transformer import MultiheadAttention, TransformerEncoderLayer, from_torch, list_attention, to_torch

DIM, HEADS = 16, 4
PADDING = torch.arange(7) >= torch.tensor([7, 4, 1])[:, None]  # True for padding


def trained(**options: object) -> nn.TransformerEncoder:
    """An encoder of torch whose layers differ, as after training."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(DIM, HEADS, 32, batch_first=True, **options)
    encoder = nn.TransformerEncoder(layer, 3, norm=nn.LayerNorm(DIM))
    for parameter in encoder.parameters():
        nn.init.normal_(parameter, std=0.2)
    return encoder.eval()


class Network(nn.Module):
    """What somebody else may have written."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = trained()
        self.decoder = nn.TransformerDecoderLayer(DIM, HEADS, 32, batch_first=True)
        self.mixer = nn.MultiheadAttention(DIM, HEADS, batch_first=True)
        self.again = self.mixer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.encoder(x)
        return self.again(x, x, x, need_weights=False)[0]


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_trained_encoder_goes_on_with_ours_and_comes_back(norm_first: bool, activation: str) -> None:
    theirs = trained(norm_first=norm_first, activation=activation)
    ours = from_torch(theirs, attention="dense")
    assert not any(isinstance(module, nn.MultiheadAttention) for module in ours.modules())
    back = to_torch(ours)
    x = torch.randn(3, 7, DIM)
    for grad in (True, False):
        with torch.set_grad_enabled(grad):
            expected = theirs(x, src_key_padding_mask=PADDING)[~PADDING]
            for other in (ours, back):
                out = other(x, src_key_padding_mask=PADDING)[~PADDING]
                torch.testing.assert_close(out, expected, rtol=0, atol=1e-5)
    assert back.use_nested_tensor == theirs.use_nested_tensor
    assert not ours.use_nested_tensor
    assert all(torch.equal(one, two) for one, two in zip(back.parameters(), theirs.parameters(), strict=True))


@pytest.mark.parametrize("name", [one for one in list_attention() if one not in ("none", "induced")])
def test_every_mechanism_with_the_parameters_of_dense_attention_takes_the_weights(name: str) -> None:
    theirs = nn.MultiheadAttention(DIM, HEADS)
    ours = from_torch(theirs, name)
    x, positions = torch.randn(7, 2, DIM), torch.rand(7, 2, 3)
    assert ours(x, x, x, need_weights=False, positions=positions)[0].shape == x.shape
    assert torch.equal(ours.attention.value.weight, theirs.in_proj_weight[2 * DIM :])


def test_the_copy_is_numbered_and_trains_while_the_network_stays() -> None:
    theirs = trained()
    before = {name: tensor.clone() for name, tensor in theirs.state_dict().items()}
    ours = from_torch(theirs, samples=2)
    assert [layer.self_attn.attention.layer for layer in ours.layers] == [0, 1, 2]
    assert all(layer.self_attn.attention.samples == 2 for layer in ours.layers)
    optimiser = torch.optim.SGD(ours.parameters(), lr=0.1)
    ours.train()(torch.randn(3, 7, DIM)).square().sum().backward()
    optimiser.step()
    assert all(torch.equal(tensor, before[name]) for name, tensor in theirs.state_dict().items())


def test_a_checkpoint_of_torch_s_encoder_loads_into_one_of_ours() -> None:
    theirs = trained()
    ours = nn.TransformerEncoder(
        TransformerEncoderLayer(DIM, HEADS, 32, batch_first=True, attention="dense"),
        3,
        norm=nn.LayerNorm(DIM),
        enable_nested_tensor=False,
    ).eval()
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(3, 7, DIM)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-5)


def test_layers_anywhere_in_a_network_are_replaced_but_not_those_of_decoders() -> None:
    network = Network().eval()
    ours = from_torch(network, attention="dense")
    assert isinstance(ours.mixer, MultiheadAttention)
    assert ours.again is ours.mixer
    assert isinstance(ours.encoder.layers[2], TransformerEncoderLayer)
    assert isinstance(ours.decoder.self_attn, nn.MultiheadAttention)
    x = torch.randn(3, 7, DIM)
    torch.testing.assert_close(ours(x), network(x), rtol=0, atol=1e-5)
    torch.testing.assert_close(to_torch(ours)(x), network(x), rtol=0, atol=1e-5)


def test_of_a_derived_layer_only_the_attention_is_replaced() -> None:
    class Scaled(nn.TransformerEncoderLayer):
        def forward(self, src: torch.Tensor, **others: object) -> torch.Tensor:
            return 2 * super().forward(src, **others)

    theirs = Scaled(DIM, HEADS, 32, batch_first=True).eval()
    ours = from_torch(theirs, attention="dense")
    assert isinstance(ours, Scaled)
    assert isinstance(ours.self_attn, MultiheadAttention)
    x = torch.randn(3, 7, DIM)
    with torch.no_grad():
        torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-5)


def test_what_was_frozen_half_precision_or_training_stays_so() -> None:
    theirs = nn.TransformerEncoderLayer(DIM, HEADS, 32, dropout=0.3).to(torch.bfloat16).train()
    theirs.self_attn.in_proj_weight.requires_grad_(False)
    theirs.linear1.weight.requires_grad_(False)
    theirs.dropout1.p = 0.4
    for ours in (from_torch(theirs), from_torch(to_torch(from_torch(theirs)))):
        assert ours.training
        assert ours.self_attn.training
        assert ours.self_attn.out_proj.weight.dtype == torch.bfloat16
        assert not ours.self_attn.attention.key.weight.requires_grad
        assert ours.self_attn.attention.key.bias.requires_grad
        assert not ours.linear1.weight.requires_grad
        assert (ours.dropout.p, ours.dropout1.p, ours.self_attn.dropout) == (0.3, 0.4, 0.3)


def test_what_cannot_be_swapped_is_refused() -> None:
    with pytest.raises(ValueError, match=r"network: expected nn.MultiheadAttention or .* got Linear without any"):
        from_torch(nn.Linear(3, 3))
    with pytest.raises(ValueError, match="network: expected a torch module, got dict; load_state_dict of our layers"):
        from_torch({})
    with pytest.raises(ValueError, match=r"attention: expected a mechanism with the parameters of dense .* 'induced'"):
        from_torch(nn.MultiheadAttention(DIM, HEADS), "induced")
    with pytest.raises(ValueError, match=r"attention: expected a mechanism with the parameters of dense .* 'none'"):
        from_torch(nn.MultiheadAttention(DIM, HEADS), "none")
    with pytest.raises(ValueError, match="kdim: expected 16"):
        from_torch(nn.MultiheadAttention(DIM, HEADS, kdim=8))
    with pytest.raises(ValueError, match=r"network: expected a mechanism with the parameters .* got InducedAttention"):
        to_torch(MultiheadAttention(DIM, HEADS, attention="induced"))
