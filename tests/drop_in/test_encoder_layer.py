"""TransformerEncoderLayer against torch's own, alone and inside nn.TransformerEncoder."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sampled_transformer import TransformerEncoderLayer, list_attention, number_layers

DIM, HEADS, HIDDEN = 16, 4, 32
PADDING = torch.arange(7) >= torch.tensor([7, 4, 1])[:, None]  # True for padding


def pair(**options: object) -> tuple[nn.TransformerEncoderLayer, TransformerEncoderLayer]:
    """torch's layer, and ours with dense attention and the same weights."""
    torch.manual_seed(0)
    theirs = nn.TransformerEncoderLayer(DIM, HEADS, HIDDEN, **options).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    ours = TransformerEncoderLayer(DIM, HEADS, HIDDEN, **options, attention="dense").eval()
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def stack(layer: nn.Module, nested: bool = True) -> nn.TransformerEncoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that it has no fast path for our layer
        return nn.TransformerEncoder(layer, 3, enable_nested_tensor=nested)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu", functional.silu, nn.GELU()])
@pytest.mark.parametrize("batch_first", [True, False])
def test_dense_attention_equals_torch_s_layer(
    norm_first: bool, activation: str | Callable[[Tensor], Tensor], batch_first: bool
) -> None:
    theirs, ours = pair(norm_first=norm_first, activation=activation, batch_first=batch_first)
    x = torch.randn(3, 7, DIM)
    x, keep = (x, ~PADDING) if batch_first else (x.transpose(0, 1), ~PADDING.T)
    answers = []
    for layer in (ours, theirs):
        given = x.clone().requires_grad_()
        out = layer(given, src_key_padding_mask=PADDING)[keep]
        layer.zero_grad()
        out.square().mean().backward()
        answers.append([out, given.grad, layer.linear1.weight.grad, layer.norm1.weight.grad, layer(x)])
    for one, two in zip(*answers, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
def test_a_single_set_and_layers_without_bias(bias: bool) -> None:
    theirs, ours = pair(bias=bias, layer_norm_eps=1e-3)
    x = torch.randn(7, DIM)
    torch.testing.assert_close(ours(x), theirs(x), rtol=0, atol=1e-5)
    padding = torch.arange(7) >= 5
    torch.testing.assert_close(
        ours(x, src_key_padding_mask=padding)[:5], theirs(x, src_key_padding_mask=padding)[:5], rtol=0, atol=1e-5
    )


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("grad", [True, False])
def test_torch_s_encoder_stacks_it(nested: bool, norm_first: bool, grad: bool) -> None:
    theirs, ours = pair(batch_first=True, norm_first=norm_first)
    encoder, expected = stack(ours, nested), stack(theirs, nested)
    x = torch.randn(3, 7, DIM)
    with torch.set_grad_enabled(grad):
        torch.testing.assert_close(encoder.eval()(x), expected.eval()(x), rtol=0, atol=1e-4)
        out, wanted = (one(x, src_key_padding_mask=PADDING)[~PADDING] for one in (encoder, expected))
        torch.testing.assert_close(out, wanted, rtol=0, atol=1e-4)
    encoder.train()(x, src_key_padding_mask=PADDING).sum().backward()
    assert all(parameter.grad is not None for parameter in encoder.parameters())


def test_a_torch_encoder_next_to_it_keeps_its_fast_path() -> None:
    theirs, ours = pair(batch_first=True)
    encoder, expected = stack(ours).eval(), stack(theirs).eval()
    assert expected.use_nested_tensor
    assert not encoder.use_nested_tensor
    x, calls = torch.randn(3, 7, DIM), []
    for layer in (expected.layers[0], encoder.layers[0]):
        layer.linear1.register_forward_hook(lambda *_: calls.append(1))
    with torch.no_grad():
        expected(x)
        encoder(x)
    assert len(calls) == 2  # hooks keep torch off its fast path
    calls.clear()
    fast = stack(theirs).eval()
    fast.layers[0].linear1.forward = None  # the fast path does not call it
    with torch.no_grad():
        torch.testing.assert_close(encoder(x), fast(x), rtol=0, atol=1e-4)


@pytest.mark.parametrize("name", [one for one in list_attention() if one not in ("knn", "rotary", "stratified")])
def test_every_mechanism_without_positions_works_in_torch_s_encoder(name: str) -> None:
    torch.manual_seed(0)
    encoder = stack(TransformerEncoderLayer(DIM, HEADS, HIDDEN, batch_first=True, attention=name))
    x = torch.randn(3, 7, DIM)
    noise = torch.where(PADDING[..., None], torch.nan, x)
    encoder(noise, src_key_padding_mask=PADDING)[~PADDING].sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in encoder.parameters() if parameter.grad is not None)
    encoder.eval()
    out = encoder(noise, src_key_padding_mask=PADDING)
    for i, row in enumerate(~PADDING):
        torch.testing.assert_close(out[i, row], encoder(x[i : i + 1, row])[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["knn", "rotary", "stratified"])
def test_positions_go_to_mechanisms_that_read_them(name: str) -> None:
    layer = TransformerEncoderLayer(DIM, HEADS, HIDDEN, attention=name).eval()
    x, positions = torch.randn(7, 3, DIM), torch.rand(7, 3, 3)
    with pytest.raises(ValueError, match=r"positions: expected shape .* needs, got None"):
        layer(x)
    alone = layer(x[:, 1], positions=positions[:, 1])
    torch.testing.assert_close(layer(x, positions=positions)[:, 1], alone, rtol=1e-4, atol=1e-5)


def test_numbered_copies_walk_cycles_of_their_own() -> None:
    encoder = stack(TransformerEncoderLayer(DIM, HEADS, HIDDEN, dropout=0.0)).eval()
    x = torch.randn(9, 2, DIM)
    first, second = encoder.layers[0], encoder.layers[1]
    assert torch.equal(first(x), second(x))  # copies of one layer
    number_layers(encoder)
    assert [layer.self_attn.attention.layer for layer in encoder.layers] == [0, 1, 2]
    assert not torch.equal(first(x), second(x))


@pytest.mark.parametrize("norm_first", [True, False])
def test_nested_tensors_go_through(norm_first: bool) -> None:
    torch.manual_seed(0)
    layer = TransformerEncoderLayer(DIM, HEADS, HIDDEN, norm_first=norm_first, batch_first=True)
    parts = [torch.randn(size, DIM) for size in (3, 5)]
    x = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
    layer(x).values().sum().backward()
    assert x.grad is not None
    layer.eval()
    for one, part in zip(layer(x).unbind(), parts, strict=True):
        torch.testing.assert_close(one, layer(part[None])[0], rtol=0, atol=1e-5)


def test_copies_and_files_of_weights_are_whole() -> None:
    layer = TransformerEncoderLayer(DIM, HEADS, HIDDEN, attention="linear", dtype=torch.float64).eval()
    other = TransformerEncoderLayer(DIM, HEADS, HIDDEN, attention="linear", dtype=torch.float64).eval()
    other.load_state_dict(layer.state_dict())
    x = torch.randn(7, 2, DIM, dtype=torch.float64)
    assert torch.equal(other(x), layer(x))
    assert torch.equal(copy.deepcopy(layer)(x), layer(x))


def test_calls_and_options_that_cannot_be_kept_are_refused() -> None:
    layer, x = TransformerEncoderLayer(DIM, HEADS, HIDDEN), torch.randn(7, 3, DIM)
    causal = nn.Transformer.generate_square_subsequent_mask(7)
    with pytest.raises(ValueError, match="src_mask: expected None, as the mechanism itself chooses whom a point"):
        layer(x, causal)
    with pytest.raises(ValueError, match="src_mask: expected None"):
        stack(layer)(x, mask=causal)
    with pytest.raises(ValueError, match="is_causal: expected False, as the points of a set have no order"):
        layer(x, is_causal=True)
    with pytest.raises(ValueError, match=r"src_key_padding_mask: expected bool of shape \(3, 7\), True for padding"):
        layer(x, src_key_padding_mask=PADDING.T)
    with pytest.raises(ValueError, match="activation: expected one of relu, gelu, a function, got 'swish'"):
        TransformerEncoderLayer(DIM, HEADS, activation="swish")
    with pytest.raises(ValueError, match="did you mean 'samples'"):
        TransformerEncoderLayer(DIM, HEADS, sample=3)
