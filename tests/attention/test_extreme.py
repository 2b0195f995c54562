from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from sampled_transformer.attention import extreme
from sampled_transformer.attention.extreme import are_extreme, fused_attention, largest


def drawn(size: float, n: int = 6) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(2, 3, n, 4, generator=generator) * size).requires_grad_() for _ in range(3)]


def test_the_largest_feature() -> None:
    assert largest(torch.tensor([1.0, -3.0, 2.0])) == 3
    assert largest(torch.zeros(0)) == 0
    assert are_extreme(torch.ones(2), torch.tensor([-2e4]))
    assert not are_extreme(torch.ones(2), torch.tensor([-9e3]))


def test_nobody_looks_under_vmap() -> None:
    found = torch.func.vmap(lambda x: x * largest(x))(torch.ones(3, 2))
    assert torch.equal(found, torch.zeros(3, 2))


@pytest.mark.parametrize("mask", [None, torch.ones(2, 1, 1, 6, dtype=torch.bool), torch.zeros(2, 1, 6, 6)])
def test_ordinary_features_are_those_of_torch_to_the_bit(mask: torch.Tensor | None) -> None:
    query, key, value = drawn(1.0)
    expected = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=0.5)
    assert torch.equal(fused_attention(query, key, value, mask, 0.0, 0.5), expected)


@pytest.mark.parametrize("mask", [None, torch.ones(2, 1, 1, 6, dtype=torch.bool), torch.zeros(2, 1, 6, 6)])
@pytest.mark.parametrize("size", [1e4, 1e8, 1e15])
def test_large_scores_have_the_gradients_of_double_precision(size: float, mask: torch.Tensor | None) -> None:
    parts = drawn(size)
    fused_attention(*parts, mask, 0.0, 0.5).sum().backward()
    for number, one in enumerate(parts):
        assert one.grad is not None
        assert one.grad.isfinite().all(), number
    query, key, value = (one.detach().double() for one in parts)
    score = 0.5 * query @ key.transpose(2, 3)
    torch.testing.assert_close(parts[2].grad, score.softmax(-1).sum(2)[..., None].expand_as(value).float())


def test_weights_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extreme, "LIMIT", 1000)
    with pytest.raises(ValueError, match=r"x: expected scores below 1048576 for 6 keys, whose weights would take"):
        fused_attention(*drawn(1e6), None, 0.0, 0.5)
    with torch.no_grad():  # nobody wants gradients
        assert fused_attention(*drawn(1e6), None, 0.0, 0.5).isfinite().all()


@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("mask", [None, torch.ones(2, 1, 1, 6, dtype=torch.bool), torch.zeros(2, 1, 6, 6)])
def test_few_keys_in_half_precision_are_read_in_single_precision(mask: torch.Tensor | None, autocast: bool) -> None:
    parts = [one.detach().bfloat16().requires_grad_() for one in drawn(1.0)]
    wide = [one.detach().float().requires_grad_() for one in parts]
    if mask is not None and mask.is_floating_point():
        mask = mask.bfloat16()
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        out = fused_attention(*parts, mask, 0.0, 0.5)
    as_float = mask.float() if mask is not None and mask.is_floating_point() else mask
    expected = scaled_dot_product_attention(*wide, attn_mask=as_float, scale=0.5)
    assert torch.equal(out, expected.bfloat16())
    out.sum().backward()
    expected.sum().backward()
    for one, other in zip(parts, wide, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert torch.equal(one.grad, other.grad.bfloat16())


def test_many_keys_in_half_precision_stay_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extreme, "FEW_KEYS", 5)
    parts = [one.detach().bfloat16().requires_grad_() for one in drawn(1.0)]
    assert torch.equal(fused_attention(*parts, None, 0.0, 0.5), scaled_dot_product_attention(*parts, scale=0.5))
