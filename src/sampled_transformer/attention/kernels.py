"""The arithmetic of attention alone: no parameters, no random numbers.

Queries, keys and values are (batch, n, heads, head_dim) throughout, as the projections give them. An index into the
points is (batch or 1, heads or 1, m): a 1 means that all of them share it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def take(x: Tensor, index: Tensor) -> Tensor:
    """Pick points: x (batch, n, heads, head_dim), index (batch or 1, heads or 1, m) -> (batch, m, heads, head_dim)."""
    if index.shape[0] == 1 and index.shape[1] == 1:
        return x.index_select(1, index[0, 0])
    batch, n, heads, _ = x.shape
    row = index + torch.arange(batch, device=x.device)[:, None, None] * n  # (batch, heads or 1, m)
    if index.shape[1] == 1:
        return x.flatten(0, 1).index_select(0, row.flatten()).unflatten(0, (batch, index.shape[2]))
    row = row.transpose(1, 2) * heads + torch.arange(heads, device=x.device)  # (batch, m, heads)
    return x.flatten(0, 2).index_select(0, row.flatten()).unflatten(0, tuple(row.shape))


def two_keys(query: Tensor, key: Tensor, value: Tensor, other_key: Tensor, other_value: Tensor, scale: float) -> Tensor:
    """Softmax over two keys, which is a sigmoid of the difference of their scores."""
    return torch.lerp(other_value, value, _weight(query, key - other_key, scale).to(value.dtype))


def _weight(query: Tensor, difference: Tensor, scale: float) -> Tensor:
    """The weight of the first of two keys, (..., 1); in single precision when the inputs are narrower."""
    exact = torch.promote_types(query.dtype, torch.float32)
    return torch.sigmoid(scale * (query.to(exact) * difference.to(exact)).sum(-1, keepdim=True))


def pair_attention(query: Tensor, key: Tensor, value: Tensor, successor: Tensor, scale: float) -> Tensor:
    """SHead of Eq. 5a with the pattern of Eq. 4: every point attends to itself and to its successor.

    `successor` (batch or 1, heads or 1, n) must be a permutation of the points.
    """
    return _PairAttention.apply(query, key, value, successor, scale)


class _PairAttention(torch.autograd.Function):
    """Keeps only its inputs for the backward pass: the weights are cheaper to compute again than to store.

    Because the successor is a permutation, what autograd would scatter back is gathered from the predecessor.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, successor: Tensor, scale: float) -> Tensor:
        return two_keys(query, key, value, take(key, successor), take(value, successor), scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        query, key, value, successor, ctx.scale = inputs
        ctx.save_for_backward(query, key, value, successor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, successor = ctx.saved_tensors
        predecessor = torch.empty_like(successor).scatter(
            -1, successor, torch.arange(successor.shape[-1], device=successor.device).expand_as(successor)
        )
        key_step = key - take(key, successor)
        weight = _weight(query, key_step, ctx.scale)
        slope = (grad * (value - take(value, successor))).sum(-1, keepdim=True, dtype=weight.dtype)
        slope = (ctx.scale * slope * weight * (1 - weight)).to(query.dtype)
        own = weight.to(grad.dtype) * grad
        key_grad = slope * query
        return (
            slope * key_step,
            key_grad - take(key_grad, predecessor),
            own + take(grad - own, predecessor),
            None,
            None,
        )


def group_attention(query: Tensor, key: Tensor, value: Tensor, queries: Tensor, keys: Tensor, scale: float) -> Tensor:
    """Dense attention inside groups: the points `queries[..., g, :]` attend to the points `keys[..., g, :]`.

    Both (batch or 1, heads or 1, groups, size), -1 for no point. Returns one row for every entry of `queries`,
    (batch, groups * size, heads, head_dim); `restore` brings the rows to the points.
    """
    batch, _, heads, width = query.shape
    groups = keys.shape[2]

    def pick(x: Tensor, index: Tensor) -> Tensor:  # -> (batch, heads * groups, size, head_dim)
        # A point of the same group fills empty places: one of another set could bring a NaN along.
        own = torch.where(index >= 0, index, index[..., :1]).clamp(min=0)
        rows = take(x, own.flatten(2)).view(batch, groups, index.shape[3], heads, width)
        return rows.permute(0, 3, 1, 2, 4).reshape(batch, heads * groups, index.shape[3], width)

    allowed = keys >= 0
    # A group without a key is nobody's: any finite answer will do, and a softmax over nothing has none.
    allowed = allowed | ~allowed.any(-1, keepdim=True)
    allowed = allowed.expand(-1, heads, -1, -1).flatten(1, 2).unsqueeze(2)
    out = scaled_dot_product_attention(
        pick(query, queries), pick(key, keys), pick(value, keys), attn_mask=allowed, scale=scale
    )
    out = out.view(batch, heads, groups, queries.shape[3], width).permute(0, 2, 3, 1, 4)
    return out.reshape(batch, groups * queries.shape[3], heads, width)


def restore(rows: Tensor, owners: Tensor, n: int) -> Tensor:
    """Bring rows (batch, m, heads, head_dim) to their owners (batch or 1, heads or 1, m), -1 for none: (batch, n, ...).

    Every point owns at most one row; what a point without a row gets is unspecified but finite.
    """
    place = torch.arange(owners.shape[-1], device=owners.device).expand_as(owners)
    inverse = torch.zeros(*owners.shape[:-1], n + 1, dtype=place.dtype, device=owners.device)
    inverse = inverse.scatter(-1, torch.where(owners >= 0, owners, n), place)
    return take(rows, inverse[..., :n])
