from __future__ import annotations

import pytest
import torch

from sampled_transformer import create_attention


@pytest.mark.parametrize("bias", [True, False])
def test_equals_torch_multi_head_attention(bias: bool) -> None:
    torch.manual_seed(0)
    ours = create_attention("dense", 24, 4, bias=bias).double()
    theirs = torch.nn.MultiheadAttention(24, 4, bias=bias, batch_first=True, dtype=torch.float64)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    ours.load_multihead(theirs)
    x = torch.randn(3, 17, 24, dtype=torch.float64)
    mask = torch.rand(3, 17) > 0.3
    mask[:, 0] = True
    torch.testing.assert_close(ours(x), theirs(x, x, x, need_weights=False)[0], rtol=0, atol=1e-12)
    expected = theirs(x, x, x, key_padding_mask=~mask, need_weights=False)[0]
    torch.testing.assert_close(ours(x, mask=mask)[mask], expected[mask], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [{"embed_dim": 16}, {"num_heads": 2}, {"bias": False}, {"kdim": 8}],
    ids=lambda options: next(iter(options)),
)
def test_multi_head_attention_of_another_form_is_refused(options: dict) -> None:
    other = torch.nn.MultiheadAttention(**{"embed_dim": 24, "num_heads": 4, **options})
    with pytest.raises(ValueError, match="other: expected"):
        create_attention("sampled", 24, 4, bias=True).load_multihead(other)
