"""Eq. 5c to the letter: one subset after the other, each on the points as the subset before left them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..cycles import Cycle, real_first
from ..sets import Sets
from .attended import AllKeys, FewKeys, all_weights, few_weights
from .dense import read_all
from .kernels import two_keys

if TYPE_CHECKING:
    from .sampled import SampledAttention


def attend_in_turn(
    layer: SampledAttention, x: Tensor, sets: Sets, cycle: Cycle, record: list[Tensor] | None = None
) -> Tensor:
    """SAttn(x) - x, (batch, n, dim): the residual connection of the block makes it SAttn(x).

        SAttn(X) = g^l(X^l) o ... o g^1(X^1)                                                              (Eq. 5c)

    The walk carries two columns along: the link to the next subset, and the first point of the cycle, to which the last
    subset returns. So a step costs the same for every n, forward and backward. A set of fewer than n_s points
    is one subset and has nothing to compose: its path closes on its own first point, as the parallel cycle does.
    A `record` takes the weights of every subset, (sets, heads, n_s, n_s).
    """
    order, lengths = _in_order(x, sets, cycle)
    walked = x.gather(1, order[..., None].expand_as(x))
    size = min(layer.subset, x.shape[1] + 1)  # a larger one holds nothing but padding
    stride = size - 1
    windows = -(-walked.shape[1] // stride)
    missing = windows * stride + 1 - walked.shape[1]
    columns = torch.cat([walked, walked.new_zeros(walked.shape[0], missing, walked.shape[2])], 1)
    carried, *chunks = columns.split([1] + [stride] * windows, 1)
    first, finished = carried, []
    slot = torch.arange(size, device=x.device)
    for window, chunk in enumerate(chunks):
        place = window * stride + slot  # (n_s,)
        begun = window * stride < lengths
        link = begun & (place == lengths) & (lengths > stride)
        valid = (begun & (place < lengths)) | link  # (sets, n_s)
        subset = torch.where(link[..., None], first, torch.cat([carried, chunk], 1))
        closing = (lengths <= stride) & (place == lengths - 1)
        subset = subset + update(layer, subset, valid, closing, record)  # g^i of Eq. 5b
        if window == 0:
            first = subset[:, :1]
        returned = torch.where(link[..., None], subset, 0).sum(1, keepdim=True)
        first = torch.where(link.any(1)[:, None, None], returned, first)
        finished.append(subset[:, :-1])
        carried = subset[:, -1:]
    # The first point of a set with one window keeps what that window gave it.
    done = torch.cat([first, torch.cat(finished, 1)[:, 1 : walked.shape[1]]], 1)
    change = done - walked
    back = torch.empty_like(order).scatter(1, order, torch.arange(order.shape[1], device=x.device).expand_as(order))
    return change.gather(1, back[..., None].expand_as(change))


def update(
    layer: SampledAttention, subset: Tensor, valid: Tensor, closing: Tensor, record: list[Tensor] | None = None
) -> Tensor:
    """W_O [SHead^1; ...; SHead^h] of Eq. 5b on one subset (sets, n_s, dim).

    `valid` (sets, n_s) marks the places that hold a point, `closing` the last point of a set with one subset only.
    """
    query, key, value = (layer.split(project(subset)) for project in (layer.query, layer.key, layer.value))
    if record is not None:
        record.append(_weights(layer, query, key, valid, closing))
        return layer.output(AllKeys(record[-1]).apply(value).flatten(2))
    if layer.inner == "dense":
        return layer.output(read_all(query, key, value, valid, layer.scale, layer.dropping).flatten(2))
    # Eq. 4: a point attends to itself and to the next; the last of the path has no next and keeps its own value.
    follows = torch.cat([valid[:, 1:], torch.zeros_like(valid[:, :1])], 1)[..., None, None]
    closes = closing[..., None, None]
    next_key, next_value = (
        torch.where(closes, column[:, :1], torch.where(follows, column.roll(-1, 1), column)) for column in (key, value)
    )
    return layer.output(two_keys(query, key, value, next_key, next_value, layer.scale, layer.dropping).flatten(2))


def _weights(layer: SampledAttention, query: Tensor, key: Tensor, valid: Tensor, closing: Tensor) -> Tensor:
    """The weights of `update`, (sets, heads, n_s, n_s), after dropout."""
    if layer.inner == "dense":
        return layer.drop(all_weights(query, key, valid, layer.scale))
    slot = torch.arange(valid.shape[1], device=valid.device).expand_as(valid)
    follows = torch.cat([valid[:, 1:], torch.zeros_like(valid[:, :1])], 1)
    following = torch.where(closing & (slot > 0), 0, torch.where(follows, slot + 1, -1))
    index = torch.stack([slot, following], -1)[:, None]  # (sets, 1, n_s, 2)
    return FewKeys(index, layer.drop(few_weights(query, key, index, layer.scale))).matrix(valid.shape[1])


def weigh_in_turn(layer: SampledAttention, x: Tensor, sets: Sets, cycle: Cycle) -> tuple[Tensor, FewKeys]:
    """`attend_in_turn` and its weights: for every point, the mean over its one or two updates.

    A point is updated as a member of its subset and, if it is the first of it, as the link of the subset before.
    """
    record: list[Tensor] = []
    change = attend_in_turn(layer, x, sets, cycle, record)
    weights = torch.stack(record, 1)  # (sets, windows, heads, n_s, n_s)
    order, lengths = _in_order(x, sets, cycle)
    stride, place = weights.shape[4] - 1, torch.arange(order.shape[1], device=x.device)
    begin = torch.arange(len(record), device=x.device)[:, None] * stride
    seat = begin + torch.arange(stride + 1, device=x.device)  # (windows, n_s), places in the cycle
    size, several = lengths[..., None], lengths > stride
    link = (seat == size) & several[..., None]
    seated = (begin < size) & ((seat < size) | link)
    visited = torch.where(seated & ~link, seat, 0).flatten(1)
    keys = torch.where(seated, order.gather(1, visited).view_as(seated), -1)  # (sets, windows, n_s)
    number = torch.arange(len(x), device=x.device)[:, None]

    def rows(window: Tensor, slot: Tensor, takes_part: Tensor) -> tuple[Tensor, Tensor]:
        there = takes_part[..., None]
        weight = weights[number, window, :, slot].transpose(2, 3)  # (sets, n, n_s, heads)
        return torch.where(there, keys[number, window], -1), weight.masked_fill(~there[..., None], 0)

    real, last = place < lengths, (lengths - 1).clamp(min=0) // stride
    linked = real & several & (place % stride == 0)
    before = torch.where(place == 0, last, place // stride - 1).clamp(min=0)
    end = torch.where(place == 0, lengths - last * stride, stride)
    member, again = rows(place // stride, place % stride, real), rows(before, end, linked)
    index = torch.cat([member[0], again[0]], 2)
    weight = torch.cat([member[1], again[1]], 2) / (1 + linked.long())[..., None, None]
    back = order.argsort(1)
    return change, FewKeys(index[number, back][:, None], weight[number, back])


def _in_order(x: Tensor, sets: Sets, cycle: Cycle) -> tuple[Tensor, Tensor]:
    """The cycle as indices (batch, n), padding last, and the sizes of the sets (batch, 1)."""
    if cycle.order.dim() == 2:
        return cycle.order.expand(x.shape[0], -1), torch.full((x.shape[0], 1), x.shape[1], device=x.device)
    order = cycle.order[:, 0]
    if sets.mask is None:
        return order, torch.full((x.shape[0], 1), x.shape[1], device=x.device)
    return torch.where(order >= 0, order, real_first(sets.mask)), sets.mask.sum(1, keepdim=True)
