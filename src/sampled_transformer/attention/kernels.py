"""The arithmetic of attention, without parameters and random numbers.

Queries, keys and values are (batch, n, heads, head_dim) throughout, as the projections return them. An index into the
points is (batch or 1, heads or 1, m), where a 1 means that all sets or all heads share it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ..support.compiled import Compiled
from .extreme import are_extreme, fused_attention

REST = 1e-5  # a share of the sums that rounding alone may leave


def take(x: Tensor, index: Tensor) -> Tensor:
    """Pick points: x (batch, n, heads, head_dim), index (batch or 1, heads or 1, m) -> (batch, m, heads, head_dim)."""
    # An exported graph has a symbol for a size that stays free: asking for its value would fix it.
    if isinstance(index.shape[0], int) and index.shape[0] == 1 and index.shape[1] == 1:
        return x.index_select(1, index[0, 0])
    batch, n, heads, width = x.shape
    rows = x.flatten(0, 1) if index.shape[1] == 1 else x.flatten(0, 2)
    return rows.index_select(0, row_numbers(index, batch, n, heads)).view(batch, index.shape[2], heads, width)


def row_numbers(index: Tensor, batch: int, n: int, heads: int) -> Tensor:
    """An index into n points, (batch or 1, heads or 1, m), as one into the rows of a flattened batch.

    The rows are (batch, n) when all heads share the index, and (batch, n, heads) otherwise.
    """
    rows = index + torch.arange(batch, device=index.device)[:, None, None] * n  # (batch, heads or 1, m)
    if index.shape[1] > 1:
        rows = rows * heads + torch.arange(heads, device=index.device)[:, None]
    return rows.transpose(1, 2).flatten()


def two_keys(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    other_key: Tensor,
    other_value: Tensor,
    scale: float,
    dropout: float = 0.0,
) -> Tensor:
    """Softmax over two keys: v_2 + sigmoid(scale * q.(k_1 - k_2)) (v_1 - v_2), or dropout of each of both weights."""
    weight = _weight(query, key - other_key, scale).to(value.dtype)
    if not dropout:
        return torch.lerp(other_value, value, weight)
    return nn.functional.dropout(weight, dropout) * value + nn.functional.dropout(1 - weight, dropout) * other_value


def _weight(query: Tensor, difference: Tensor, scale: float) -> Tensor:
    """The weight of the first of two keys, (..., 1); in single precision when the inputs are narrower."""
    exact = torch.promote_types(query.dtype, torch.float32)
    return torch.sigmoid(scale * (query.to(exact) * difference.to(exact)).sum(-1, keepdim=True))


def pair_attention(query: Tensor, key: Tensor, value: Tensor, successor: Tensor, scale: float) -> Tensor:
    """SHead of Eq. 5a with the pattern of Eq. 4: every point k attends to itself and to its successor s.

        out_k = v_s + sigmoid(scale * q_k.(k_k - k_s)) (v_k - v_s)

    `successor` (batch or 1, heads or 1, n) must be a permutation of the points.
    """
    together = successor.shape[1] == 1  # all heads walk the same way: a row of memory holds them all

    def as_rows(x: Tensor) -> Tensor:
        return x.flatten(0, 1) if together else x.flatten(0, 2)[:, None]

    rows = row_numbers(successor, *query.shape[:3])
    inputs = as_rows(query), as_rows(key), as_rows(value), rows, scale
    output: Tensor = _PairAttention.apply(*inputs)  # type: ignore[no-untyped-call]
    return output.view(query.shape)


class _PairAttention(torch.autograd.Function):
    """On rows (rows, heads, head_dim), each with the number of the row that follows it, (rows,).

    The backward pass keeps only the inputs: the weights are cheaper to recompute than to store. The successor is a
    permutation, so a gather from the predecessor replaces the scatter of autograd.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(query: Tensor, key: Tensor, value: Tensor, successor: Tensor, scale: float) -> Tensor:
        return _attend_to_pairs(query, key, value, successor, scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        query, key, value, successor, ctx.scale = inputs
        ctx.save_for_backward(query, key, value, successor)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, successor = ctx.saved_tensors
        rows = torch.arange(successor.shape[0], device=successor.device)
        predecessor = torch.empty_like(successor).scatter(0, successor, rows)
        return *_attend_to_pairs_backward(grad, query, key, value, successor, predecessor, ctx.scale), None, None


@Compiled
def _attend_to_pairs(query: Tensor, key: Tensor, value: Tensor, successor: Tensor, scale: float) -> Tensor:
    return two_keys(query, key, value, key.index_select(0, successor), value.index_select(0, successor), scale)


@Compiled
def _attend_to_pairs_backward(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, successor: Tensor, predecessor: Tensor, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    key_step = key - key.index_select(0, successor)
    weight = _weight(query, key_step, scale)
    slope = (grad * (value - value.index_select(0, successor))).sum(-1, keepdim=True, dtype=weight.dtype)
    slope = (scale * slope * weight * (1 - weight)).to(query.dtype)
    weight = weight.to(grad.dtype)
    # We gather the predecessor's factor and row, not their product, which would take another pass over memory.
    from_key = slope.index_select(0, predecessor) * query.index_select(0, predecessor)
    from_value = (1 - weight).index_select(0, predecessor) * grad.index_select(0, predecessor)
    return slope * key_step, slope * query - from_key, weight * grad + from_value


def following(successor: Tensor, rounds: int) -> Tensor:
    """The `rounds` points that come after each in its cycle, (..., n, rounds)."""
    steps = [successor]
    for _ in range(rounds - 1):
        steps.append(successor.gather(-1, steps[-1]))
    return torch.stack(steps, -1)


def few_scores(query: Tensor, key: Tensor, keys: Tensor, weight: Tensor, scale: float) -> Tensor:
    """Scores of every point's own key and of a few others, plus the logarithm of their weights.

    `keys` (batch, n, r, heads, head_dim); `weight` (batch or 1, n or 1, r), zero for a key that does not count, the
    own key counts once. Returns (batch, n, r + 1, heads), in single precision when the inputs are narrower.
    """
    exact = torch.promote_types(query.dtype, torch.float32)
    query = query.to(exact)
    own = (query * key.to(exact)).sum(-1)[:, :, None]
    others = (query[:, :, None] * keys.to(exact)).sum(-1)
    return scale * torch.cat([own, others], 2) + nn.functional.pad(weight.to(exact).log(), (1, 0))[..., None]


def few_keys(
    query: Tensor, key: Tensor, value: Tensor, keys: Tensor, values: Tensor, weight: Tensor, scale: float
) -> Tensor:
    """Softmax over the own key and a few others, whose exponentials are multiplied by `weight`."""
    share = few_scores(query, key, keys, weight, scale).softmax(2)[..., None].to(value.dtype)
    return share[:, :, 0] * value + (share[:, :, 1:] * values).sum(2)


def without_autocast(x: Tensor) -> torch.autocast:
    """A context for sums over whole sets, which need more digits than autocast leaves a matrix product."""
    return torch.autocast(x.device.type, enabled=False)


def positive_features(x: Tensor) -> Tensor:
    """(elu(x) + 1) / sqrt(width), the feature map of "Transformers are RNNs", https://arxiv.org/abs/2006.16236.

    The divisor keeps the product of two features from growing with the width.
    """
    exact = torch.promote_types(x.dtype, torch.float32)
    features: Tensor = (nn.functional.elu(x.to(exact)) + 1) * x.shape[-1] ** -0.5
    return features


def linear_sums(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """sum_j f_ij v_j and sum_j f_ij over all points j of the set, for positive features (batch, n, heads, head_dim)."""
    if mask is not None:
        key = key.masked_fill(~mask[..., None, None], 0)
    query, key, value = (x.transpose(1, 2) for x in (query, key, value.to(key.dtype)))
    with without_autocast(key):
        numerator = query @ (key.transpose(2, 3) @ value)  # (batch, heads, n, head_dim)
        denominator = query @ key.sum(2)[..., None]
    return numerator.transpose(1, 2), denominator.transpose(1, 2)


def summary_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    """S_f = sum_j softmax_j(k_jf) v_j per feature f of the keys, and out_i = sum_f softmax_f(q_if) S_f.

    From "Efficient Attention", https://arxiv.org/abs/1812.01243. The cost is O(n), the weights are positive and sum to
    one per point, and all points of a set share the sums.
    """
    exact = torch.promote_types(query.dtype, torch.float32)
    share, mixture = key_shares(key, mask).transpose(1, 2), query.to(exact).softmax(-1).transpose(1, 2)
    with without_autocast(share):
        sums = share.transpose(2, 3) @ value.to(exact).transpose(1, 2)  # (batch, heads, head_dim, head_dim)
        return (mixture @ sums).transpose(1, 2).to(value.dtype)


def key_shares(key: Tensor, mask: Tensor | None) -> Tensor:
    """softmax_j(k_jf) over the real points j of a set, per feature f, in at least single precision."""
    key = key.to(torch.promote_types(key.dtype, torch.float32))
    if mask is not None:  # a finite number: a set of padding alone must not become NaN
        key = key.masked_fill(~mask[..., None, None], torch.finfo(key.dtype).min)
    return key.softmax(1)


def few_keys_and_rest(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    keys: Tensor,
    values: Tensor,
    weight: Tensor,
    scale: float,
    mask: Tensor | None,
) -> Tensor:
    """A few keys exactly and all others through linear sums; with every key among the few it is dense attention.

        out_i = N_i / D_i,    N_i = sum_(j not read) f_ij v_j + sum_(j read) exp(s_ij) v_j

    D_i is the same sum without v_j, and f_ij is the product of positive features. Every term of D_i is positive.
    Where nothing is left to read through the sums, rounding may not stand in for it: the few keys are all there is.
    """
    if query.dtype != torch.float64 and are_extreme(query, key):
        own = query.double(), key.double(), value.double()
        return few_keys_and_rest(*own, keys.double(), values.double(), weight, scale, mask).to(value.dtype)
    score = few_scores(query, key, keys, weight, scale)
    query_features, key_features = positive_features(query), positive_features(key)
    counted = (weight > 0)[..., None]  # (batch or 1, n or 1, r, 1)
    linear = [(query_features * key_features).sum(-1)[:, :, None]]
    linear.append((query_features[:, :, None] * positive_features(keys)).sum(-1) * counted)
    read = torch.cat(linear, 2)
    numerator, denominator = linear_sums(query_features, key_features, value, mask)
    rest = denominator - read.sum(2)[..., None]
    some = (rest > REST * denominator).transpose(2, 3)  # (batch, n, 1, heads)
    highest = score.amax(2, keepdim=True).detach()
    highest = torch.where(some, highest.clamp(min=0), highest)  # nothing overflows
    exact = (score - highest).exp()
    factor = torch.where(some, (-highest).exp(), 0)
    change = exact - read * factor
    damp = factor.transpose(2, 3)  # (batch, n, heads, 1)
    change = change[..., None]
    wide = value.to(score.dtype)
    numerator = numerator * damp + change[:, :, 0] * wide + (change[:, :, 1:] * values.to(score.dtype)).sum(2)
    denominator = denominator * damp + change.sum(2)
    return (numerator / denominator.clamp(min=torch.finfo(score.dtype).tiny)).to(value.dtype)


def group_attention(
    query: Tensor, key: Tensor, value: Tensor, queries: Tensor, keys: Tensor, scale: float, dropout: float = 0.0
) -> Tensor:
    """Dense attention inside groups: the points `queries[..., g, :]` attend to the points `keys[..., g, :]`.

    Both (batch or 1, heads or 1, groups, size), -1 for no point. Returns one row for every entry of `queries`,
    (batch, groups * size, heads, head_dim); `restore` brings the rows to the points.
    """
    batch, _, heads, width = query.shape
    groups = keys.shape[2]

    def pick(x: Tensor, index: Tensor) -> Tensor:  # -> (batch, heads * groups, size, head_dim)
        # A point of the same group fills empty places: a point of another set could bring a NaN along.
        own = torch.where(index >= 0, index, index[..., :1]).clamp(min=0)
        rows = take(x, own.flatten(2)).view(batch, groups, index.shape[3], heads, width)
        return rows.permute(0, 3, 1, 2, 4).reshape(batch, heads * groups, index.shape[3], width)

    allowed = keys >= 0
    # No point owns a group without keys, so any finite answer will do; a softmax over no keys has none.
    allowed = allowed | ~allowed.any(-1, keepdim=True)
    allowed = allowed.expand(-1, heads, -1, -1).flatten(1, 2).unsqueeze(2)
    out = fused_attention(pick(query, queries), pick(key, keys), pick(value, keys), allowed, dropout, scale)
    out = out.view(batch, heads, groups, queries.shape[3], width).permute(0, 2, 3, 1, 4)
    return out.reshape(batch, groups * queries.shape[3], heads, width)


def restore(rows: Tensor, owners: Tensor, n: int) -> Tensor:
    """Bring rows (batch, m, heads, head_dim) to their owners (batch or 1, heads or 1, m), -1 for none: (batch, n, ...).

    Every point owns at most one row. A point without a row gets some finite value.
    """
    place = torch.arange(owners.shape[-1], device=owners.device).expand_as(owners)
    inverse = torch.zeros(*owners.shape[:-1], n + 1, dtype=place.dtype, device=owners.device)
    inverse = inverse.scatter(-1, torch.where(owners >= 0, owners, n), place)
    return take(rows, inverse[..., :n])
