"""Who attended to whom: attention weights written out, as the layers compute them and as callers get them.

The ordinary call never builds these tables. `need_weights=True` does, and so does dropout where a mechanism reads few
keys per query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .kernels import take, without_autocast

LIMIT = 4 * 2**30  # bytes that one table of weights may take; callers may raise it


@dataclass(frozen=True)
class Points:
    """The points that ask or that answer in one call, plain or padded; packed sets come in padded batches."""

    x: Tensor  # (batch, n, dim), zero in the padding
    positions: Tensor | None  # (batch, n, coordinates)
    mask: Tensor | None  # (batch, n), True where a point is real

    def real(self) -> Tensor:
        """The mask, also of plain sets."""
        return torch.ones(self.x.shape[:2], dtype=torch.bool, device=self.x.device) if self.mask is None else self.mask


@dataclass(frozen=True, eq=False)
class AttentionPairs:
    """Whom each point attended to and how much: one row per pair, sorted by set, query and key.

    A pair is listed if any head read it; the weight of a head that did not is zero. Indices count as the tensors of the
    call do: places in a set of (batch, n) tensors, rows of packed ones. `key_index` counts in the context if one was
    given. Weights carry gradients, and are those after dropout in training.

    | mechanism                           | a weight w_ij                                                         |
    |-------------------------------------|-----------------------------------------------------------------------|
    | dense, knn, sparse, stratified, sampled, estimated | softmax over the keys read: output_i = W_O sum_j w_ij v_j |
    | linear, rotary, summed              | what the sums amount to, output_i as above; rotary's may be negative  |
    | knn with vector=True                | mean over the channels of the head, each of which has its own         |
    | sampled with composition="sequential" | mean over the one or two updates of point i, on points as they were then |
    | induced                             | product of both maps, the first averaged over heads: how much of j    |
    |                                     | reaches i, not a factor of v_j, which passes a feed-forward layer     |
    | none                                | no pairs                                                              |
    """

    query_index: Tensor  # (pairs,)
    key_index: Tensor  # (pairs,)
    set_index: Tensor  # (pairs,)
    weight: Tensor  # (pairs, heads)
    shape: tuple[int, int, int]  # sets, queries per set, keys per set; of packed sets, the most
    ptr: Tensor | None = None  # of packed queries and keys
    context_ptr: Tensor | None = None

    def __len__(self) -> int:
        return len(self.query_index)

    @property
    def heads(self) -> int:
        return self.weight.shape[1]

    def average_heads(self) -> AttentionPairs:
        """The mean over the heads, as one head."""
        return replace(self, weight=self.weight.mean(1, keepdim=True))

    def dense(self) -> Tensor:
        """The weights as matrices (sets, heads, queries, keys), zero where nothing was read; for tests and pictures."""
        sets, queries, keys = self.shape
        check_fits(sets, queries, keys, self.heads, self.weight.element_size())
        query, key = self.query_index, self.key_index
        if self.ptr is not None and self.context_ptr is not None:
            query, key = query - self.ptr[self.set_index], key - self.context_ptr[self.set_index]
        empty = self.weight.new_zeros(sets, queries, keys, self.heads)
        return empty.index_put((self.set_index, query, key), self.weight).permute(0, 3, 1, 2)


@dataclass(frozen=True)
class FewKeys:
    """Weights of a few keys per query."""

    index: Tensor  # (batch or 1, heads or 1, queries, r), -1 for no key
    weight: Tensor  # (batch, queries, r, heads), zero where there is no key

    def apply(self, value: Tensor) -> Tensor:
        """sum_j w_ij v_j for values (batch, keys, heads, head_dim)."""
        values = take_few(value, self.index)
        return (self.weight[..., None].to(value.dtype) * values).sum(2)

    def by_head(self) -> tuple[Tensor, Tensor]:
        """Index and weight, both (batch, heads, queries, r)."""
        weight = self.weight.permute(0, 3, 1, 2)
        return self.index.expand_as(weight), weight

    def matrix(self, keys: int) -> Tensor:
        """(batch, heads, queries, keys)."""
        index, weight = self.by_head()
        check_fits(index.shape[0], index.shape[2], keys, index.shape[1], weight.element_size())
        empty = weight.new_zeros(*weight.shape[:3], keys)
        return empty.scatter_add(3, index.clamp(min=0), weight.masked_fill(index < 0, 0))

    def listed(self, asking: Points, answering: Points) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Set, query and key of every pair of real points, and the weights (pairs, heads)."""
        batch, queries, _, heads = self.weight.shape
        keys = answering.x.shape[1]
        index = self.index.expand(batch, -1, -1, -1)
        real = (index >= 0) & asking.real()[:, None, :, None]
        real &= answering.real()[:, None, None].expand(*index.shape[:3], keys).gather(3, index.clamp(min=0))
        one, head, query, slot = real.nonzero(as_tuple=True)
        number = (one * queries + query) * keys + index[real]
        pairs, place = number.unique(return_inverse=True)
        weight = self.weight.new_zeros(len(pairs), heads)
        if index.shape[1] == 1:
            weight = weight.index_add(0, place, self.weight[one, query, slot])
        else:
            weight = weight.index_put((place, head), self.weight[one, query, slot, head], accumulate=True)
        return pairs // (queries * keys), pairs // keys % queries, pairs % keys, weight


@dataclass(frozen=True)
class AllKeys:
    """Weights of all keys."""

    weight: Tensor  # (batch, heads, queries, keys)

    def apply(self, value: Tensor) -> Tensor:
        with without_autocast(self.weight):
            return (self.weight @ value.to(self.weight.dtype).transpose(1, 2)).transpose(1, 2).to(value.dtype)

    def matrix(self, keys: int) -> Tensor:
        return self.weight

    def listed(self, asking: Points, answering: Points) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        real = asking.real()[:, :, None] & answering.real()[:, None]
        one, query, key = real.nonzero(as_tuple=True)
        return one, query, key, self.weight.permute(0, 2, 3, 1)[one, query, key]


Weights = FewKeys | AllKeys


def mean_of(weights: Sequence[Weights]) -> Weights:
    """The mean of the weights of several passes, as one table."""
    few = [one for one in weights if isinstance(one, FewKeys)]
    if len(few) == len(weights):
        if len(few) == 1:
            return few[0]
        return FewKeys(torch.cat([one.index for one in few], 3), torch.cat([one.weight for one in few], 2) / len(few))
    return AllKeys(torch.stack([one.weight for one in weights]).mean(0))


def take_few(x: Tensor, index: Tensor) -> Tensor:
    """Rows of x (batch, keys, heads, head_dim) at index (batch or 1, heads or 1, queries, r): (batch, queries, r, ...).

    The first key stands in for absent ones: a point of another set could bring a NaN along.
    """
    own = torch.where(index >= 0, index, index[..., :1]).clamp(min=0)
    rows: Tensor = take(x, own.flatten(2)).unflatten(1, index.shape[2:])
    return rows


def few_weights(query: Tensor, key: Tensor, index: Tensor, scale: float) -> Tensor:
    """softmax_j(scale * q_i.k_j) over the keys of `index`: (batch, queries, r, heads), in at least single precision."""
    exact = torch.promote_types(query.dtype, torch.float32)
    score = scale * (query.to(exact)[:, :, None] * take_few(key, index).to(exact)).sum(-1)
    absent = (index < 0).permute(0, 2, 3, 1)
    return score.masked_fill(absent, torch.finfo(exact).min).softmax(2).masked_fill(absent, 0)


def all_weights(query: Tensor, key: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """softmax_j(scale * q_i.k_j) over all real keys: (batch, heads, queries, keys), in at least single precision."""
    score = scale * products(query, key)
    if mask is not None:
        score = score.masked_fill(~mask[:, None, None], torch.finfo(score.dtype).min)
    return score.softmax(3)


def products(query: Tensor, key: Tensor) -> Tensor:
    """q_i.k_j of all pairs, (batch, heads, queries, keys), in at least single precision."""
    batch, queries, heads, _ = query.shape
    check_fits(batch, queries, key.shape[1], heads, query.element_size())
    exact = torch.promote_types(query.dtype, torch.float32)
    with without_autocast(query):
        return query.to(exact).transpose(1, 2) @ key.to(exact).permute(0, 2, 3, 1)


def normalised(weight: Tensor, mask: Tensor | None) -> Tensor:
    """Positive weights (..., queries, keys) that sum to one over the real keys."""
    if mask is not None:
        weight = weight.masked_fill(~mask[:, None, None], 0)
    return weight / weight.sum(3, keepdim=True).clamp(min=torch.finfo(weight.dtype).tiny)


def check_fits(sets: int, queries: int, keys: int, heads: int, width: int, features: int = 1) -> None:
    """Refuse a table of weights that would not fit: scores, weights and a copy, and three indices per pair.

    Where keys are collected for every query, each has `features` numbers per head; `width` is the size of a number.
    """
    needed = sets * queries * keys * (3 * heads * width * features + 24)
    if needed > LIMIT:
        size = f"about {needed / 2**30:,.1f} GiB for {sets} x {queries:,} x {keys:,} pairs and {heads} heads"
        advice = "ask for some queries only (x with context=), or raise sampled_transformer.attention.attended.LIMIT"
        raise ValueError(f"need_weights: expected at most {LIMIT / 2**30:g} GiB of weights, got {size}; {advice}")


def check_few(query: Tensor, keys: int) -> None:
    """`check_fits` for queries (batch, queries, heads, head_dim) that collect some keys each."""
    check_fits(query.shape[0], query.shape[1], keys, query.shape[2], query.element_size(), query.shape[3])


def collect(
    parts: Sequence[tuple[Tensor, Tensor, Tensor, Tensor]],
    shape: tuple[int, int, int],
    ptr: Tensor | None,
    context_ptr: Tensor | None,
) -> AttentionPairs:
    """One list of the pairs of all parts, in order."""
    set_index, query, key, weight = (torch.cat(columns) for columns in zip(*parts, strict=True))
    if len(parts) > 1:
        keys = int(key.max()) + 1 if len(key) else 1
        order = torch.argsort(query * keys + key)
        set_index, query, key, weight = set_index[order], query[order], key[order], weight[order]
    return AttentionPairs(query, key, set_index, weight, shape, ptr, context_ptr)


def pair_index(successor: Tensor) -> Tensor:
    """The own place and the successor of every point, (..., n, 2); the only point of a set has no second key."""
    own = torch.arange(successor.shape[-1], device=successor.device).expand_as(successor)
    return torch.stack([own, torch.where(successor == own, -1, successor)], -1)


def group_index(queries: Tensor, keys: Tensor, n: int) -> Tensor:
    """The keys of every point from groups (..., groups, size) of queries and keys, -1 for none: (..., n, keys)."""
    owners = queries.flatten(-2)
    group = torch.arange(queries.shape[-2], device=queries.device).repeat_interleave(queries.shape[-1])
    own = torch.full((*owners.shape[:-1], n + 1), -1, device=owners.device)
    own = own.scatter(-1, torch.where(owners >= 0, owners, n), group.expand_as(owners))[..., :n]
    rows = keys.gather(-2, own.clamp(min=0)[..., None].expand(*own.shape, keys.shape[-1]))
    return torch.where(own[..., None] >= 0, rows, -1)
