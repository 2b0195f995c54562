"""The general call: queries that read another set (`context`), and calls that return their weights.

The ordinary call, in which a set reads itself and returns features alone, never comes here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..cycles import Cycles, each
from ..geometry.tracing import never_compiled
from ..sets import Integers, Sets, buckets, check_device, check_pair, pad_sets
from .attended import AttentionPairs, Points, collect

if TYPE_CHECKING:
    from .base import Attention

# Mechanisms that read another set, for the message to those that cannot.
TAKES_CONTEXT = ("dense", "induced", "knn", "linear", "rotary", "sampled", "summed")

Listed = tuple[Tensor, Tensor, Tensor, Tensor]  # set, query, key, and weights of pairs
Given = tuple[Tensor, Tensor | None, Sets]  # points, positions, and how they fall into sets


def check_context(
    layer: Attention,
    x: Tensor,
    sets: Sets,
    cycle: Cycles | None,
    context: Tensor | None,
    positions: Tensor | None,
    mask: Tensor | None,
    ptr: Integers | None,
) -> Given | None:
    """Refuse a context that does not fit, naming the argument; None where no context was given."""
    if context is None:
        for name, value in (("positions", positions), ("mask", mask), ("ptr", ptr)):
            if value is not None:
                raise ValueError(f"context: expected the points that context_{name} describes, got None")
        return None
    reason = layer.context_refusal(cycle)
    if reason is not None:
        raise ValueError(f"context: expected one of {', '.join(TAKES_CONTEXT)}, got {type(layer).__name__}: {reason}")
    if (sets.ptr is None) != (ptr is None):
        raise ValueError("ptr, context_ptr: expected both or neither, got one")
    places, bounds = layer.check(context, positions, mask, ptr, "context", "context_")
    check_pair(x, context, sets.ptr, bounds, ("x", "context", "", "context_"))
    if context.dtype != x.dtype and not torch.is_autocast_enabled(x.device.type):
        raise ValueError(f"context: expected the type of x, {x.dtype}, got {context.dtype}")
    if mask is not None:
        check_device(mask, context, "context_mask", "context")
        context = context.masked_fill(~mask[..., None], 0)
    return context, places, Sets(mask, bounds)


def attend_in_general(
    layer: Attention, given: Given, context: Given | None, cycle: Cycles | None, need_weights: bool
) -> tuple[Tensor, AttentionPairs | None]:
    """The output for every point of `given`, which reads `context`, or itself; the pairs where wanted."""
    (x, positions, sets), source = given, given if context is None else context
    if x.numel() == 0 or source[0].numel() == 0:  # nothing is read; autograd and DDP still expect every parameter
        nothing = sum((parameter.sum() * 0 for parameter in layer.parameters()), source[0].sum() * 0)
        out = x.masked_fill(torch.ones_like(x, dtype=torch.bool), 0) + nothing
        return out, _no_pairs(layer, given, source) if need_weights else None
    if sets.ptr is not None:
        return _in_buckets(layer, given, context, cycle, need_weights)
    if sets.mask is not None:
        x = x.masked_fill(~sets.mask[..., None], 0)
    asking = Points(x, positions, sets.mask)
    answering = asking if context is None else Points(context[0], context[1], context[2].mask)
    out, listed = _one_part(layer, asking, answering, cycle, need_weights)
    shape = (x.shape[0], x.shape[1], source[0].shape[1])
    return out, None if listed is None else collect([listed], shape, None, None)


def _one_part(
    layer: Attention, asking: Points, answering: Points, cycle: Cycles | None, need_weights: bool
) -> tuple[Tensor, Listed | None]:
    """A plain or padded batch; queries of padding, and those that have nothing to read, get zeros."""
    out, weights = layer.read(asking, answering, cycle, need_weights)
    if asking.mask is not None:
        out = out.masked_fill(~asking.mask[..., None], 0)
    if answering.mask is not None and answering is not asking:
        out = out.masked_fill(~answering.mask.any(1)[:, None, None], 0)
    return out, None if weights is None else weights.listed(asking, answering)


@never_compiled  # how many buckets there are depends on the sizes
def _in_buckets(
    layer: Attention, given: Given, context: Given | None, cycle: Cycles | None, need_weights: bool
) -> tuple[Tensor, AttentionPairs | None]:
    """Packed sets as padded batches in which both sizes are similar."""
    source = given if context is None else context
    ptr, context_ptr = given[2].ptr, source[2].ptr
    assert ptr is not None
    assert context_ptr is not None
    rows, places, parts = [], [], []
    for some in buckets(ptr, context_ptr):
        place, asking = _padded(given, some)
        answering = asking if context is None else _padded(context, some)[1]
        if asking.x.shape[1] == 0 or answering.x.shape[1] == 0:
            continue
        walk = None if cycle is None else [one.padded(some) for one in each(cycle)]
        out, listed = _one_part(layer, asking, answering, walk, need_weights)
        rows.append(out[asking.real()])
        places.append(place[asking.real()])
        if listed is not None:
            one, query, key, weight = listed
            number = some[one]
            parts.append((number, ptr[number] + query, context_ptr[number] + key, weight))
    if not rows:  # no set has both queries and keys
        empty = (source[0][:0], None if source[1] is None else source[1][:0], source[2])
        return attend_in_general(layer, given, empty, cycle, need_weights)
    out = torch.cat(rows)
    out = out.new_zeros(given[0].shape).index_copy(0, torch.cat(places), out)
    if not need_weights:
        return out, None
    return out, collect(parts, _shape(given, source), ptr, context_ptr)


def _padded(given: Given, some: Tensor) -> tuple[Tensor, Points]:
    """The named packed sets as a padded batch, and which packed row is where."""
    x, positions, sets = given
    assert sets.ptr is not None
    place, mask = pad_sets(torch.arange(len(x), device=x.device), sets.ptr, some)
    padding = ~mask[..., None]
    if len(x) == 0:
        return place, Points(x[place], None if positions is None else positions[place], mask)
    where = None if positions is None else positions[place].masked_fill(padding, 0)
    return place, Points(x[place].masked_fill(padding, 0), where, mask)


def _shape(given: Given, source: Given) -> tuple[int, int, int]:
    ptr, other = given[2].ptr, source[2].ptr
    if ptr is None or other is None:
        return given[0].shape[0], given[0].shape[1], source[0].shape[1]
    most = [int(one.diff().max()) if len(one) > 1 else 0 for one in (ptr, other)]
    return len(ptr) - 1, most[0], most[1]


def _no_pairs(layer: Attention, given: Given, source: Given) -> AttentionPairs:
    none = torch.zeros(0, dtype=torch.int64, device=given[0].device)
    weight = given[0].new_zeros(0, layer.heads)
    return AttentionPairs(none, none, none, weight, _shape(given, source), given[2].ptr, source[2].ptr)
