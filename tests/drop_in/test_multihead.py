"""MultiheadAttention against torch's own layer, and with every mechanism."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import Tensor, nn

from sampled_transformer import MultiheadAttention, create_attention, list_attention
from sampled_transformer.drop_in.multihead import rename_projections

DIM, HEADS = 16, 4


def pair(batch_first: bool = False, bias: bool = True) -> tuple[nn.MultiheadAttention, MultiheadAttention]:
    """torch's layer, and ours with dense attention and the same weights."""
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(DIM, HEADS, bias=bias, batch_first=batch_first).eval()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    ours = MultiheadAttention(DIM, HEADS, bias=bias, batch_first=batch_first, attention="dense").eval()
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def gradients(layer: nn.Module, x: Tensor, keep: Tensor, **arguments: object) -> list[Tensor]:
    """Output at the real points, gradient of the input, and gradients of the parameters under torch's names."""
    x = x.clone().requires_grad_()
    out, _ = layer(x, x, x, need_weights=False, **arguments)
    out = out[keep]
    layer.zero_grad()
    out.square().mean().backward()
    names = dict(layer.named_parameters())
    if isinstance(layer, MultiheadAttention):
        parts = [layer.attention.query, layer.attention.key, layer.attention.value]
        joined = [torch.cat([part.weight.grad for part in parts]), layer.out_proj.weight.grad]
        if layer.out_proj.bias is not None:
            joined += [torch.cat([part.bias.grad for part in parts]), layer.out_proj.bias.grad]
    else:
        joined = [
            names[name].grad
            for name in ("in_proj_weight", "out_proj.weight", "in_proj_bias", "out_proj.bias")
            if name in names
        ]
    return [out, x.grad, *joined]


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("padding", ["none", "bool", "float"])
def test_dense_attention_equals_torch_s_layer_forward_and_backward(batch_first: bool, bias: bool, padding: str) -> None:
    theirs, ours = pair(batch_first, bias)
    x = torch.randn(3, 7, DIM)
    mask = torch.arange(7) >= torch.tensor([7, 4, 1])[:, None]  # True for padding
    keep = ~mask if padding != "none" else torch.ones_like(mask)
    arguments = {}
    if padding != "none":
        arguments["key_padding_mask"] = mask if padding == "bool" else torch.zeros(3, 7).masked_fill(mask, -math.inf)
    if not batch_first:
        x, keep = x.transpose(0, 1), keep.T
    for one, two in zip(gradients(ours, x, keep, **arguments), gradients(theirs, x, keep, **arguments), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-5)


def test_a_single_set_needs_no_batch() -> None:
    theirs, ours = pair()
    x, padding = torch.randn(7, DIM), torch.arange(7) >= 5
    torch.testing.assert_close(ours(x, x, x, need_weights=False)[0], theirs(x, x, x)[0], rtol=0, atol=1e-5)
    out = ours(x, x, x, padding, need_weights=False)[0]
    assert out.shape == (7, DIM)
    torch.testing.assert_close(out[:5], theirs(x, x, x, padding)[0][:5], rtol=0, atol=1e-5)
    assert (out[5:] == 0).all()


@pytest.mark.parametrize("name", list_attention())
@pytest.mark.parametrize("batch_first", [True, False])
def test_every_mechanism_computes_what_it_does_by_itself(name: str, batch_first: bool) -> None:
    torch.manual_seed(0)
    ours = MultiheadAttention(DIM, HEADS, batch_first=batch_first, attention=name).eval()
    alone = create_attention(name, DIM, HEADS, bias=True).eval()
    alone.load_state_dict(ours.attention.state_dict())
    x, positions = torch.randn(2, 9, DIM), torch.rand(2, 9, 3)
    mask = torch.arange(9) < torch.tensor([9, 6])[:, None]
    expected = alone(x, positions, mask)
    if not batch_first:
        x, positions, expected = (part.transpose(0, 1) for part in (x, positions, expected))
    out, weights = ours(x, x, x, key_padding_mask=~mask, need_weights=False, positions=positions)
    assert weights is None
    assert torch.equal(out, expected)


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
def test_nested_tensors_come_back_nested(layout: torch.layout) -> None:
    _, ours = pair(batch_first=True)
    parts = [torch.randn(size, DIM) for size in (3, 5)]
    x = torch.nested.nested_tensor(parts, layout=layout)
    out = ours(x, x, x, need_weights=False)[0]
    assert out.is_nested
    for one, part in zip(out.unbind(), parts, strict=True):
        torch.testing.assert_close(one, ours(part, part, part, need_weights=False)[0], rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="key_padding_mask: expected None with nested tensors"):
        ours(x, x, x, torch.zeros(2, 5, dtype=torch.bool), need_weights=False)


def test_it_stands_in_torch_s_own_encoder_without_its_fast_path() -> None:
    """One line in a network that was trained: the fast path of torch would compute dense attention from no weights."""
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(DIM, HEADS, 32, batch_first=True), 2).eval()
    theirs = copy.deepcopy(encoder)
    for layer in encoder.layers:
        ours = MultiheadAttention(DIM, HEADS, batch_first=True, attention="dense").eval()
        ours.load_state_dict(layer.self_attn.state_dict())
        layer.self_attn = ours
    x, padding = torch.randn(3, 7, DIM), torch.arange(7) >= torch.tensor([7, 4, 1])[:, None]
    assert encoder.use_nested_tensor  # torch hands over nested tensors here
    with torch.no_grad():
        for arguments in ({}, {"src_key_padding_mask": padding}):
            keep = ~padding if arguments else torch.ones_like(padding)
            out = encoder(x, **arguments)[keep]
            torch.testing.assert_close(out, theirs(x, **arguments)[keep], rtol=0, atol=1e-5)
    encoder.train()(x, src_key_padding_mask=padding).sum().backward()


def test_parameters_begin_as_torch_s_do() -> None:
    torch.manual_seed(0)
    ours, theirs = MultiheadAttention(64, 4), nn.MultiheadAttention(64, 4)
    bound = theirs.in_proj_weight.abs().max()
    for layer in (ours.attention.query, ours.attention.key, ours.attention.value):
        torch.testing.assert_close(layer.weight.abs().max(), bound, rtol=0.01, atol=0)
    assert all((parameter == 0).all() for name, parameter in ours.named_parameters() if name.endswith("bias"))


def test_names_of_torch_become_ours() -> None:
    weight = torch.arange(12.0).view(6, 2)
    state = {"a.in_proj_weight": weight, "a.out_proj.weight": weight[:2], "b.in_proj_weight": weight}
    rename_projections(state, "a.")
    assert sorted(state) == [
        "a.attention.key.weight",
        "a.attention.output.weight",
        "a.attention.query.weight",
        "a.attention.value.weight",
        "b.in_proj_weight",
    ]
    assert torch.equal(state["a.attention.key.weight"], weight[2:4])


def test_a_checkpoint_of_torch_loads_into_a_network_with_ours_and_wrong_names_do_not() -> None:
    theirs, ours = nn.ModuleDict({"mixer": pair()[0]}), nn.ModuleDict({"mixer": MultiheadAttention(DIM, HEADS)})
    ours.load_state_dict(theirs.state_dict())
    assert torch.equal(ours["mixer"].attention.value.weight, theirs["mixer"].in_proj_weight[2 * DIM :])
    ours.load_state_dict(ours.state_dict())
    with pytest.raises(RuntimeError, match=r"Unexpected key.*mixer.in_proj_scale"):
        ours.load_state_dict({**theirs.state_dict(), "mixer.in_proj_scale": torch.ones(1)})


def test_device_and_type_are_those_asked_for() -> None:
    assert MultiheadAttention(DIM, HEADS, dtype=torch.float64).out_proj.weight.dtype == torch.float64
    assert MultiheadAttention(DIM, HEADS, device="meta").out_proj.weight.is_meta


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"add_bias_kv": True}, "add_bias_kv: expected False, as it adds a key that belongs to no point"),
        ({"add_zero_attn": True}, "add_zero_attn: expected False"),
        ({"kdim": 8}, "kdim: expected 16, the width of the queries, got 8; project to 16 features first"),
        ({"vdim": 8}, "vdim: expected 16"),
        ({"head_dim": 8}, "head_dim: expected none"),
        ({"dropout": 1.5}, "dropout: expected a share"),
        ({"attention": "sampeld"}, "did you mean 'sampled'"),
        ({"sample": 8}, "did you mean 'samples'"),
        ({"num_heads": 5}, "heads: expected a divisor of dim=16, got 5"),
    ],
)
def test_options_that_cannot_be_kept_are_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MultiheadAttention(**{"embed_dim": DIM, "num_heads": HEADS, **options})


def test_calls_that_cannot_be_kept_are_refused() -> None:
    layer, x = MultiheadAttention(DIM, HEADS), torch.randn(7, 2, DIM)
    narrow, turned = x[..., :3], torch.zeros(7, 2, dtype=torch.bool)
    cases = [
        ((x, x, x), {"attn_mask": torch.zeros(7, 7)}, "attn_mask: expected None, as the mechanism itself chooses"),
        ((x, x, x), {"is_causal": True}, "is_causal: expected False, as the points of a set have no order, got True"),
        ((x, x, x + 1), {}, "value: expected what key holds"),
        ((x, x, x), {"key_positions": x}, "key_positions: expected None, as the keys are the queries"),
        (
            (x, x, x),
            {"key_padding_mask": turned},
            r"key_padding_mask: expected bool of shape \(2, 7\), True",
        ),
        ((narrow, narrow, narrow), {}, r"query: expected floats of shape \(n, batch, 16\) or \(n, 16\), got"),
    ]
    for tensors, arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            layer(*tensors, need_weights=False, **arguments)


def test_it_compiles_to_one_graph() -> None:
    torch.compiler.reset()
    layer = MultiheadAttention(DIM, HEADS, batch_first=True).eval()

    def call(x: Tensor, padding: Tensor) -> Tensor:
        return layer(x, x, x, padding, need_weights=False)[0]

    x, padding = torch.randn(2, 9, DIM), torch.arange(9) >= torch.tensor([9, 6])[:, None]
    compiled = torch.compile(call, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x, padding), call(x, padding))
    torch.compiler.reset()


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_weights_equal_those_of_torch(batch_first: bool, average: bool) -> None:
    theirs, ours = pair(batch_first)
    x = torch.randn(7, 7, DIM)
    padding = torch.arange(7) >= torch.tensor([7, 4, 1, 7, 7, 2, 3])[:, None]
    expected = theirs(x, x, x, padding, average_attn_weights=average)[1]
    weights = ours(x, x, x, padding, average_attn_weights=average)[1]
    keep = (~padding)[:, None].expand(-1, HEADS, -1) if not average else ~padding
    torch.testing.assert_close(weights[keep], expected[keep], rtol=0, atol=1e-5)
    one = x[0]
    torch.testing.assert_close(
        ours(one, one, one, average_attn_weights=average)[1],
        theirs(one, one, one, average_attn_weights=average)[1],
        rtol=0,
        atol=1e-5,
    )


def test_weights_of_sampled_attention_are_sparse_and_have_torch_s_shape() -> None:
    layer = MultiheadAttention(DIM, HEADS, batch_first=True, cycles="per-head").eval()
    x = torch.randn(2, 9, DIM)
    plain = layer(x, x, x, need_weights=False)[0]
    out, average = layer(x, x, x)
    _, heads = layer(x, x, x, average_attn_weights=False)
    torch.testing.assert_close(out, plain, rtol=0, atol=1e-6)
    assert average.is_sparse
    assert heads.shape == (2, HEADS, 9, 9)
    assert ((heads.to_dense() > 0).sum(-1) <= 2).all()
    torch.testing.assert_close(heads.to_dense().mean(1), average.to_dense())
    torch.testing.assert_close(average.to_dense().sum(-1), torch.ones(2, 9))


@pytest.mark.parametrize("batch_first", [True, False])
def test_queries_that_read_another_set_equal_torch_s(batch_first: bool) -> None:
    theirs, ours = pair(batch_first)
    query, key = torch.randn(3, 5, DIM), torch.randn(3, 7, DIM)
    padding = torch.arange(7) >= torch.tensor([7, 4, 1])[:, None]
    if not batch_first:
        query, key = query.transpose(0, 1), key.transpose(0, 1)
    for one, two in zip(ours(query, key, key, padding), theirs(query, key, key, padding), strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-5)
    single, other = torch.randn(5, DIM), torch.randn(7, DIM)
    out = ours(single, other, other, need_weights=False)[0]
    torch.testing.assert_close(out, theirs(single, other, other)[0], rtol=0, atol=1e-5)
    sampled = MultiheadAttention(DIM, HEADS, batch_first=batch_first)
    assert sampled(query, key, key, padding)[0].shape == query.shape


@pytest.mark.parametrize("attention", ["dense", "sampled"])
def test_nested_queries_read_nested_keys_and_return_padded_weights(attention: str) -> None:
    torch.manual_seed(0)
    layer = MultiheadAttention(DIM, HEADS, batch_first=True, attention=attention).eval()
    queries, keys = ([torch.randn(size, DIM) for size in sizes] for sizes in ((3, 5), (4, 2)))
    query, key = (torch.nested.nested_tensor(parts, layout=torch.jagged) for parts in (queries, keys))
    out, weights = layer(query, key, key)
    assert weights.shape == (2, 5, 4)
    for i, (one, two) in enumerate(zip(queries, keys, strict=True)):
        expected, alone = layer(one, two, two)
        torch.testing.assert_close(out.unbind()[i], expected, rtol=0, atol=1e-6)
        torch.testing.assert_close(weights.to_dense()[i, : len(one), : len(two)], alone.to_dense())


def test_dropout_acts_on_the_attention_weights_in_training_only() -> None:
    layer = MultiheadAttention(DIM, HEADS, dropout=0.5, attention="dense")
    assert layer.attention.dropout == 0.5
    x = torch.randn(9, 2, DIM)
    assert not torch.equal(layer(x, x, x, need_weights=False)[0], layer(x, x, x, need_weights=False)[0])
    layer.eval()
    assert torch.equal(layer(x, x, x, need_weights=False)[0], layer(x, x, x, need_weights=False)[0])


def test_views_and_copies_are_the_same_points():
    layer = MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(3, 5, 8)
    for one in (x, x[1]):
        plain = layer(one, one, one)[0]
        assert torch.equal(layer(one.view_as(one), one.view_as(one), one.view_as(one))[0], plain)
        assert torch.equal(layer(one.clone(), one.clone(), one.clone())[0], plain)
    with pytest.raises(ValueError, match="value: expected what key holds"):
        layer(x, x, x + 1)
