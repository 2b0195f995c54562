from __future__ import annotations

import pytest
import torch
from torch import nn

from sampled_transformer import Cycle, TransformerBlock, list_attention
from sampled_transformer.blocks import as_block_options


def test_is_equations_1_and_5_by_default() -> None:
    torch.manual_seed(0)
    block = TransformerBlock(8, 2, "dense", hidden=5).double()
    x = torch.randn(2, 6, 8, dtype=torch.float64)
    attended = x + block.attention(x)  # Eq. 1b
    hidden = torch.relu(attended @ block.feed_forward.expand.weight.T)
    torch.testing.assert_close(block(x), attended + hidden @ block.feed_forward.contract.weight.T, rtol=0, atol=1e-12)
    assert sorted(dict(block.named_parameters())) == [
        "attention.key.weight",
        "attention.output.weight",
        "attention.query.weight",
        "attention.value.weight",
        "feed_forward.contract.weight",
        "feed_forward.expand.weight",
    ]


def test_dense_and_sampled_have_the_same_parameters() -> None:
    one, two = TransformerBlock(8, 2, "dense"), TransformerBlock(8, 2, "sampled")
    two.load_state_dict(one.state_dict(), strict=True)


@pytest.mark.parametrize("attention", list_attention())
def test_takes_every_mechanism_and_layout(attention: str) -> None:
    block = TransformerBlock(8, 2, attention, norm=True, activation="gelu", dropout=0.1, drop_path=0.2, bias=True)
    x, positions = torch.randn(3, 7, 8), torch.rand(3, 7, 3)
    mask = torch.arange(7) < torch.tensor([7, 3, 0])[:, None]
    assert block(x, positions).shape == x.shape
    assert block(x, positions, mask).isfinite().all()
    assert block(x[0], positions[0], ptr=torch.tensor([0, 3, 7])).shape == (7, 8)


def test_passes_the_cycle_on() -> None:
    block = TransformerBlock(8, 2)
    x, cycle = torch.randn(2, 7, 8), Cycle.sample(7)
    assert torch.equal(block(x, cycle=cycle), block(x, cycle=cycle))


def test_norm_stands_before_both_branches() -> None:
    block = TransformerBlock(8, 2, "dense", norm=True).double()
    nn.init.normal_(block.attention_norm.weight)
    nn.init.normal_(block.feed_forward_norm.bias)
    x = torch.randn(2, 6, 8, dtype=torch.float64)
    attended = x + block.attention(block.attention_norm(x))
    expected = attended + block.feed_forward(block.feed_forward_norm(attended))
    torch.testing.assert_close(block(x), expected, rtol=0, atol=1e-12)


def test_bad_options_name_the_argument() -> None:
    with pytest.raises(ValueError, match="activation: expected one of relu, gelu"):
        TransformerBlock(8, 2, activation="tanh")
    with pytest.raises(ValueError, match="drop_path: expected a probability"):
        TransformerBlock(8, 2, drop_path=1.0)
    with pytest.raises(ValueError, match="attention: expected one of"):
        TransformerBlock(8, 2, "dens")


@pytest.mark.parametrize("attention", list_attention())
def test_a_nan_in_the_padding_spoils_no_gradient(attention: str) -> None:
    block = TransformerBlock(8, 2, attention, norm=True)
    mask = torch.tensor([[True, True, False], [True, False, False]])
    x = torch.where(mask[..., None], torch.randn(2, 3, 8), torch.nan)
    block(x, torch.rand(2, 3, 3), mask)[mask].sum().backward()
    assert all(p.grad.isfinite().all() for p in block.parameters() if p.grad is not None)


def test_options_of_the_mechanism_do_not_collide_with_those_of_the_block() -> None:
    block = TransformerBlock(8, 2, "induced", hidden=32, summary_hidden=5)
    assert block.feed_forward.expand.out_features == 32
    assert block.attention.summary_feed_forward.expand.out_features == 5


@pytest.mark.parametrize("name", list_attention())
@pytest.mark.parametrize("masked", [False, True])
def test_block_leaves_its_input_alone_and_adds_its_branches(name: str, masked: bool) -> None:
    torch.manual_seed(0)
    block = TransformerBlock(16, 4, name).eval()
    x, positions = torch.randn(2, 12, 16), torch.rand(2, 12, 3)
    mask = torch.ones(2, 12, dtype=torch.bool) if masked else None
    before = x.clone()
    with torch.no_grad():
        out = block(x, positions, mask)
        middle = x + block.attention(x, positions, mask)
        torch.testing.assert_close(out, middle + block.feed_forward(middle), rtol=0, atol=1e-6)
    block(x.requires_grad_(), positions, mask).sum().backward()
    assert torch.equal(x, before)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("layout", ["plain", "mask", "ptr"])
def test_gradients_of_large_sets_are_those_of_the_written_block(bias: bool, layout: str) -> None:
    torch.manual_seed(0)
    block, x = TransformerBlock(16, 2, "dense", bias=bias).double(), torch.randn(2, 100, 16, dtype=torch.float64)
    options = {"mask": torch.ones(2, 100, dtype=torch.bool)} if layout == "mask" else {}
    if layout == "ptr":
        x, options = x.flatten(0, 1), {"ptr": torch.tensor([0, 100, 200])}
    gradients = []
    for written in (False, True):
        leaf = x.clone().requires_grad_()
        block.zero_grad()
        if written:
            middle = leaf + block.attention(leaf, **options)
            out = middle + block.feed_forward.contract(torch.relu(block.feed_forward.expand(middle)))
        else:
            out = block(leaf, **options)
        (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)).sum().backward()
        gradients.append([leaf.grad, *(parameter.grad for parameter in block.parameters())])
    for ours, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


def test_hooks_and_strange_mechanisms_meet_no_memory_that_was_written_to() -> None:
    torch.manual_seed(0)
    block, x = TransformerBlock(16, 2), torch.randn(2, 100, 16, requires_grad=True)
    for module in (block.attention, block.attention.output, block.feed_forward, block.feed_forward.expand):
        module.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    block(x).sum().backward()

    class Remembers(nn.Module):
        def forward(self, x: torch.Tensor, *rest: object) -> torch.Tensor:
            self.last = torch.sigmoid(x)  # sigmoid needs its output in the backward pass
            return self.last

    block.attention = Remembers()
    block(x).sum().backward()
    assert torch.equal(block.attention.last, torch.sigmoid(x))


def test_block_under_autocast_keeps_the_wider_type() -> None:
    block, x = TransformerBlock(16, 4), torch.randn(2, 12, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = block(x)
    assert out.dtype == torch.float32
    out.sum().backward()


def test_a_context_is_read_as_it_is() -> None:
    block = TransformerBlock(8, 2, "dense", norm=True).double()
    nn.init.normal_(block.attention_norm.weight)
    x, context = torch.randn(2, 6, 8, dtype=torch.float64), torch.randn(2, 4, 8, dtype=torch.float64)
    mask = torch.arange(4) < torch.tensor([4, 2])[:, None]
    attended = x + block.attention(block.attention_norm(x), context=context, context_mask=mask)
    expected = attended + block.feed_forward(block.feed_forward_norm(attended))
    torch.testing.assert_close(block(x, context=context, context_mask=mask), expected, rtol=0, atol=1e-12)
    packed = block(
        x.flatten(0, 1), ptr=torch.tensor([0, 6, 12]), context=context[mask], context_ptr=torch.tensor([0, 4, 6])
    )
    torch.testing.assert_close(packed.view_as(x), expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"^context: expected the points that context_mask describes, got None"):
        block(x, context_mask=mask)
    with pytest.raises(ValueError, match=r"^context: expected one of dense"):
        TransformerBlock(8, 2, "sparse")(x, context=context)


def test_options_of_the_mechanism_become_those_of_the_block() -> None:
    assert as_block_options(None) == {}
    assert as_block_options({"dropout": 0.1, "samples": 2}) == {"attention_dropout": 0.1, "samples": 2}
