"""Attention over the k nearest points (Definition "kNN Attention" of the appendix), scalar or vector."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor, nn

from ..cycles import Cycles
from ..geometry import nearest_neighbours
from ..geometry.gather import gather_rows
from ..geometry.members import nearest_members
from ..geometry.neighbours import TREE_POINTS
from ..geometry.point_keys import canonical_order
from ..geometry.tracing import exporting, never_compiled
from ..sets import Sets, check_coordinates
from .attended import FewKeys, Points, check_few, few_weights
from .base import Attention, Projections
from .extreme import fused_attention
from .kernels import take

# Up to this many points per neighbour, dense attention behind a mask is faster than collecting the neighbours' keys and
# values: at 256 points, 8 heads and k = 16 it takes a fifth of the time.
DENSE_BELOW = 32


class KNNAttention(Attention):
    """Every point attends to its k nearest points by position, itself among them (definition "kNN Attention").

    With a `context`, a query attends to its k nearest points of the context.

        Head_k = W_V X_A softmax[scale * (W_K X_A)^T W_Q x_k],    A = the k nearest points of p_k

    The vector form weighs every channel by itself (Eq. 3 of "Point Transformer", https://arxiv.org/abs/2012.09164):

        out_i = sum_j softmax_j(gamma(q_i - k_j + theta(p_i - p_j))) * (v_j + theta(p_i - p_j))

    Args:
        k: number of neighbours; a smaller set is read whole. The paper does not say its k: 16 is Point Transformer's.
        vector: use the vector form, which adds the parameters of gamma and theta and leaves `scale` unused.
        coordinates: dimension of the positions, needed by the vector form.
        projections: head_dim, bias, scale and layer of `Attention`.
    """

    needs_positions = True
    takes_packed = True

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        k: int = 16,
        vector: bool = False,
        coordinates: int = 3,
        **projections: Unpack[Projections],
    ) -> None:
        super().__init__(dim, heads, **projections)
        if k < 1:
            raise ValueError(f"k: expected at least 1 neighbour, got {k}")
        self.k, self.vector, self.coordinates = k, vector, coordinates
        if vector:
            width = self.heads * self.head_dim
            self.relation = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))  # gamma
            self.offset = nn.Sequential(nn.Linear(coordinates, width), nn.ReLU(), nn.Linear(width, width))  # theta

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        assert positions is not None
        neighbours = self.search(positions, self.most(query.shape[1]), sets)
        return self.attend_to(neighbours, query, key, value, positions, positions, sets.ptr is None)[0]

    def search(self, positions: Tensor, k: int, sets: Sets) -> Tensor:
        """The k nearest points of the same set; in evaluation, the order of the points does not choose among equals."""
        return (search_without_order if self.training else search_in_any_order)(positions, k, sets)

    def most(self, n: int) -> int:
        """Neighbours per point in sets of n points."""
        return min(self.k, n)

    def read(
        self, asking: Points, answering: Points, cycle: Cycles | None, need_weights: bool
    ) -> tuple[Tensor, FewKeys | None]:
        here, there = asking.positions, answering.positions
        assert here is not None
        assert there is not None
        if here.shape[-1] != there.shape[-1]:
            raise ValueError(f"context_positions: expected {here.shape[-1]} coordinates, got {there.shape[-1]}")
        k = self.most(there.shape[1])
        if answering is asking:
            neighbours = self.search(here, k, Sets(asking.mask))
        else:
            neighbours = search_context(here, there, k, asking.mask, answering.mask, not self.training)
        query = self.split(self.query(asking.x))
        key, value = self.split(self.key(answering.x)), self.split(self.value(answering.x))
        if need_weights:
            check_few(query, k)
        if need_weights and not self.vector:
            index = neighbours[:, None]
            weights = FewKeys(index, self.drop(few_weights(query, key, index, self.scale)))
            return self.output(weights.apply(value).flatten(2)), weights
        out, share = self.attend_to(neighbours, query, key, value, here, there, True)
        weights_of_heads = None if share is None else FewKeys(neighbours[:, None], share.mean(-1))
        return self.output(out.flatten(2)), weights_of_heads if need_weights else None

    def attend_to(
        self,
        neighbours: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        positions: Tensor,
        key_positions: Tensor,
        may_mask: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Attention to the neighbours (batch, queries, k), -1 for none; also the weights of the vector form."""
        if self.vector:
            check_coordinates(positions, self.coordinates)
        n, k = neighbours.shape[1:]
        absent = neighbours < 0  # (batch, n, k)
        absent[..., 0] = False  # of padding, whose answer is thrown away
        # The nearest point stands in for absent neighbours: a point of another set could bring a NaN along.
        own = torch.where(absent, neighbours[..., :1], neighbours).clamp(min=0)
        if not self.vector and may_mask and not exporting() and key.shape[1] <= DENSE_BELOW * k:
            return masked_attention(query, key, value, own, self.scale, self.dropping), None
        index = own.flatten(1)[:, None]  # (batch, 1, n * k)
        keys = take(key, index).unflatten(1, (n, k))  # (batch, n, k, heads, head_dim)
        values: Tensor = take(value, index).unflatten(1, (n, k))
        absent = absent[..., None]
        if self.vector:
            around = take(key_positions[:, :, None], index).unflatten(1, (n, k)).squeeze(3)
            offset = self.split(self.offset(positions[:, :, None] - around))
            scores = self.split(self.relation((query[:, :, None] - keys + offset).flatten(-2)))
            values, absent = values + offset, absent[..., None]
            share = self.drop(scores.masked_fill(absent, -torch.inf).softmax(2))
            return (share * values).sum(2), share
        scores = self.scale * (query[:, :, None] * keys).sum(-1)  # (batch, n, k, heads)
        share = self.drop(scores.masked_fill(absent, -torch.inf).softmax(2))
        return torch.einsum("bnkh,bnkhd->bnhd", share, values), None

    def context_refusal(self, cycle: Cycles | None) -> None:
        return None


def masked_attention(
    query: Tensor, key: Tensor, value: Tensor, chosen: Tensor, scale: float, dropout: float = 0.0
) -> Tensor:
    """Dense attention with a score of minus infinity for all keys but the chosen ones, (batch, queries, k)."""
    barred = query.new_full((query.shape[0], 1, query.shape[1], key.shape[1]), -torch.inf)
    barred = barred.scatter_(3, chosen[:, None], 0.0)
    query, key, value = (part.transpose(1, 2) for part in (query, key, value))
    return fused_attention(query, key, value, barred, dropout, scale).transpose(1, 2)


@never_compiled  # a tree on the CPU, chunks elsewhere: nothing that a graph could hold
def search(positions: Tensor, k: int, sets: Sets) -> Tensor:
    """The k nearest points of the same set, (batch, n, k), -1 where there are fewer."""
    if sets.ptr is None:
        return nearest_neighbours(positions.detach(), k, mask=sets.mask)[0]
    return nearest_neighbours(positions[0].detach(), k, ptr=sets.ptr)[0][None]


@never_compiled
def search_without_order(positions: Tensor, k: int, sets: Sets) -> Tensor:
    """`search`, where the k nearest points may come in any order: for small plain sets, in a fifth of the time.

    A tree searches larger sets, whose time grows more slowly.
    """
    if sets.ptr is None and sets.mask is None and k <= positions.shape[1] < TREE_POINTS:
        return nearest_members(positions, positions, k, own=True)
    return search(positions, k, sets)


@never_compiled
def search_in_any_order(positions: Tensor, k: int, sets: Sets) -> Tensor:
    """`search`, where the positions decide which of several points at the same distance are found, not their order.

    Plain sets find the same ones in compiled and exported networks, too.
    """
    order = canonical_order(positions if sets.ptr is None else positions[0], sets.mask, sets.ptr)
    order = order if sets.ptr is None else order[None]
    mask = None if sets.mask is None else sets.mask.gather(1, order)
    ordered = gather_rows(positions, order)
    if mask is None and sets.ptr is None:
        found = nearest_members(ordered, ordered, k, own=True)
    else:
        found = search(ordered, k, Sets(mask, sets.ptr))
    place = torch.empty_like(order).scatter(
        1, order, torch.arange(order.shape[1], device=order.device).expand_as(order)
    )
    return gather_rows(_renamed(found, order), place)


@never_compiled
def search_context(
    positions: Tensor,
    key_positions: Tensor,
    k: int,
    mask: Tensor | None,
    key_mask: Tensor | None,
    in_any_order: bool = False,
) -> Tensor:
    """The k nearest points of the context to every query, (batch, queries, k), -1 where there are fewer."""
    points, queries = key_positions.detach(), positions.detach()
    if not in_any_order:
        return nearest_neighbours(points, k, queries=queries, mask=key_mask, query_mask=mask)[0]
    order = canonical_order(points, key_mask)
    key_mask = None if key_mask is None else key_mask.gather(1, order)
    found = nearest_neighbours(gather_rows(points, order), k, queries=queries, mask=key_mask, query_mask=mask)[0]
    return _renamed(found, order)


def _renamed(found: Tensor, order: Tensor) -> Tensor:
    """Neighbours (batch, queries, k) in an ordered list of points, as indices of the list before; -1 stays."""
    before = order.gather(1, found.clamp(min=0).flatten(1)).view_as(found)
    return torch.where(found < 0, -1, before)
