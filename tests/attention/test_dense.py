from __future__ import annotations

import pytest
import torch

from sampled_transformer import create_attention


@pytest.mark.parametrize("bias", [True, False])
def test_equals_torch_multi_head_attention(bias: bool) -> None:
    torch.manual_seed(0)
    ours = create_attention("dense", 24, 4, bias=bias).double()
    theirs = torch.nn.MultiheadAttention(24, 4, bias=bias, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.out_proj.weight.copy_(ours.output.weight)
        if bias:
            theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, ours.value.bias]))
            theirs.out_proj.bias.copy_(ours.output.bias)
    x = torch.randn(3, 17, 24, dtype=torch.float64)
    mask = torch.rand(3, 17) > 0.3
    mask[:, 0] = True
    torch.testing.assert_close(ours(x), theirs(x, x, x, need_weights=False)[0], rtol=0, atol=1e-12)
    expected = theirs(x, x, x, key_padding_mask=~mask, need_weights=False)[0]
    torch.testing.assert_close(ours(x, mask=mask)[mask], expected[mask], rtol=0, atol=1e-12)
