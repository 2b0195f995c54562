"""Eq. 5c to the letter: one subset after the other, each on the points as the subset before left them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..cycles import Cycle, real_first
from ..sets import Sets
from .dense import read_all
from .kernels import two_keys

if TYPE_CHECKING:
    from .sampled import SampledAttention


def attend_in_turn(layer: SampledAttention, x: Tensor, sets: Sets, cycle: Cycle) -> Tensor:
    """SAttn(x) - x, (batch, n, dim): the residual connection of the block makes it SAttn(x).

        SAttn(X) = g^l(X^l) o ... o g^1(X^1)                                                              (Eq. 5c)

    The walk carries two columns along: the link to the next subset, and the first point of the cycle, to which the last
    subset returns. So a step costs the same for every n, forward and backward. A set of fewer than n_s points
    is one subset and has nothing to compose: its path closes on its own first point, as the parallel cycle does.
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
        subset = subset + update(layer, subset, valid, closing)  # g^i of Eq. 5b
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


def update(layer: SampledAttention, subset: Tensor, valid: Tensor, closing: Tensor) -> Tensor:
    """W_O [SHead^1; ...; SHead^h] of Eq. 5b on one subset (sets, n_s, dim).

    `valid` (sets, n_s) marks the places that hold a point, `closing` the last point of a set with one subset only.
    """
    query, key, value = (layer.split(project(subset)) for project in (layer.query, layer.key, layer.value))
    if layer.inner == "dense":
        return layer.output(read_all(query, key, value, valid, layer.scale, layer.dropping).flatten(2))
    # Eq. 4: a point attends to itself and to the next; the last of the path has no next and keeps its own value.
    follows = torch.cat([valid[:, 1:], torch.zeros_like(valid[:, :1])], 1)[..., None, None]
    closes = closing[..., None, None]
    next_key, next_value = (
        torch.where(closes, column[:, :1], torch.where(follows, column.roll(-1, 1), column)) for column in (key, value)
    )
    return layer.output(two_keys(query, key, value, next_key, next_value, layer.scale, layer.dropping).flatten(2))


def _in_order(x: Tensor, sets: Sets, cycle: Cycle) -> tuple[Tensor, Tensor]:
    """The cycle as indices (batch, n), padding last, and the sizes of the sets (batch, 1)."""
    if cycle.order.dim() == 2:
        return cycle.order.expand(x.shape[0], -1), torch.full((x.shape[0], 1), x.shape[1], device=x.device)
    order = cycle.order[:, 0]
    if sets.mask is None:
        return order, torch.full((x.shape[0], 1), x.shape[1], device=x.device)
    return torch.where(order >= 0, order, real_first(sets.mask)), sets.mask.sum(1, keepdim=True)
