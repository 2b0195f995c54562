"""The rivals of the benchmark compute what they claim to."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import Cycle, SampledAttention, create_attention
from sampled_transformer_lab.bench.rivals import ExplicitAttention, FlexAttention, Products


def test_explicit_attention_is_dense_attention() -> None:
    torch.manual_seed(0)
    explicit, dense = ExplicitAttention(16, 4), create_attention("dense", 16, 4)
    dense.load_state_dict(explicit.state_dict())
    x = torch.randn(2, 9, 16)
    torch.testing.assert_close(explicit(x), dense(x), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 300, 640])
def test_flex_attention_walks_the_cycle(n: int) -> None:
    torch.manual_seed(0)
    flex, sampled = FlexAttention(32, 2), SampledAttention(32, 2)
    sampled.load_state_dict(flex.state_dict())
    x = torch.randn(2, n, 32)
    torch.manual_seed(7)
    with torch.no_grad():
        out = flex(x)
        torch.manual_seed(7)
        cycle = Cycle.sample(n)
        torch.testing.assert_close(out, sampled(x, cycle=cycle), rtol=1e-4, atol=1e-5)


def test_products_are_as_many_as_asked() -> None:
    products = Products(8, 6)
    assert sum(parameter.numel() for parameter in products.parameters()) == 6 * 8 * 8
    assert products(torch.randn(2, 5, 8)).shape == (2, 5, 8)
