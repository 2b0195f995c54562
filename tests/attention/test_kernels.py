from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from sampled_transformer import Cycle
from sampled_transformer.attention.kernels import group_attention, pair_attention, restore, take, two_keys

SCALE = 0.7


def inputs(batch: int, n: int, heads: int, width: int, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(batch, n, heads, width, dtype=dtype, requires_grad=True) for _ in range(3)]


def successors(batch: int, n: int, heads: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.stack([Cycle.sample(n, heads, generator).successor for _ in range(batch)])


@pytest.mark.parametrize(("index_batch", "index_heads"), [(1, 1), (1, 3), (2, 1), (2, 3)])
def test_take_picks_points(index_batch: int, index_heads: int) -> None:
    x = torch.randn(2, 6, 3, 4)
    index = torch.randint(6, (index_batch, index_heads, 5))
    picked = take(x, index)
    for b in range(2):
        for h in range(3):
            for m in range(5):
                source = index[b % index_batch, h % index_heads, m]
                assert torch.equal(picked[b, m, h], x[b, source, h])


def test_two_keys_is_a_softmax() -> None:
    query, one, two = inputs(2, 5, 3, 4)
    value, other = torch.randn_like(one), torch.randn_like(one)
    scores = SCALE * torch.stack([(query * one).sum(-1), (query * two).sum(-1)])
    weights = scores.softmax(0)[..., None]
    expected = weights[0] * value + weights[1] * other
    torch.testing.assert_close(two_keys(query, one, value, two, other, SCALE), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("batch", "heads"), [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("n", [1, 2, 5])
def test_pair_attention_has_the_right_derivatives(n: int, batch: int, heads: int) -> None:
    tensors = inputs(2, n, 2, 3)
    index = successors(batch, n, heads)

    def function(*t: torch.Tensor) -> torch.Tensor:
        return pair_attention(*t, index, SCALE)

    assert gradcheck(function, tensors)
    assert gradgradcheck(function, tensors)


def test_pair_attention_keeps_only_its_inputs() -> None:
    query, key, value = inputs(2, 64, 2, 8)
    index = successors(1, 64, 1)
    kept: dict[int, int] = {}

    def pack(t: torch.Tensor) -> torch.Tensor:
        kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        pair_attention(query, key, value, index, SCALE)
    rows = query.shape[0] * query.shape[1]  # each keeps the number of the row that follows it
    assert sum(kept.values()) == sum(t.untyped_storage().nbytes() for t in (query, key, value)) + rows * index.itemsize


def test_pair_attention_under_vmap_and_grad() -> None:
    query, key, value = (t.detach() for t in inputs(4, 5, 2, 3))
    index = successors(1, 5, 1)

    def loss(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return pair_attention(q[None], k[None], v[None], index, SCALE).square().sum()

    each = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1, 2)))(query, key, value)
    for i in range(4):
        alone = torch.func.grad(loss, argnums=(0, 1, 2))(query[i], key[i], value[i])
        for one, other in zip(each, alone, strict=True):
            torch.testing.assert_close(one[i], other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_pair_attention_in_half_precision_sums_in_single(dtype: torch.dtype) -> None:
    """A dot product of 1,024 terms summed in bfloat16 would be off in the first digit."""
    query, key, value = (t.detach() for t in inputs(1, 16, 1, 1024, torch.float32))
    index = successors(1, 16, 1)
    narrow = [t.to(dtype) for t in (query, key, value)]
    exact = pair_attention(*(t.float() for t in narrow), index, 0.05)
    ours = pair_attention(*narrow, index, 0.05)
    assert ours.dtype == dtype
    torch.testing.assert_close(ours.float(), exact, rtol=0, atol=4 * torch.finfo(dtype).eps)


def test_pair_attention_survives_enormous_scores() -> None:
    query, key, value = (t.detach() * 1e15 for t in inputs(1, 6, 2, 3, torch.float32))
    out = pair_attention(query, key, value, successors(1, 6, 1), SCALE)
    assert out.isfinite().all()


@pytest.mark.parametrize(("index_batch", "index_heads"), [(1, 1), (2, 3)])
def test_group_attention_and_restore(index_batch: int, index_heads: int) -> None:
    query, key, value = (t.detach() for t in inputs(2, 7, 3, 4))
    order = torch.stack([torch.stack([torch.randperm(7) for _ in range(index_heads)]) for _ in range(index_batch)])
    queries = torch.cat([order, -torch.ones_like(order[..., :2])], -1).view(index_batch, index_heads, 3, 3)
    keys = torch.randint(-1, 7, (index_batch, index_heads, 3, 4))
    keys[..., 0] = order[..., :3]
    keys[..., 2, :] = -1  # a group without keys
    rows = group_attention(query, key, value, queries, keys, SCALE)
    assert rows.isfinite().all()
    out = restore(rows, queries.flatten(2), 7)
    for b in range(2):
        for h in range(3):
            ib, ih = b % index_batch, h % index_heads
            for g in range(2):
                seen = keys[ib, ih, g][keys[ib, ih, g] >= 0]
                for k in queries[ib, ih, g][queries[ib, ih, g] >= 0]:
                    weights = (SCALE * key[b, seen, h] @ query[b, k, h]).softmax(0)
                    torch.testing.assert_close(out[b, k, h], weights @ value[b, seen, h], rtol=0, atol=1e-12)


def test_pair_attention_in_half_precision_does_not_overflow() -> None:
    query, key, value = (t.detach().half() * 300 for t in inputs(1, 6, 2, 3, torch.float32))
    assert ((query * key).isinf()).any()
    assert pair_attention(query, key, value, successors(1, 6, 1), SCALE).isfinite().all()
