"""Integers that name a point by where it lies in its set: the same in any order of the points."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

from ..sets import Integers, check_points, segments
from .tracing import exporting

COARSE_BITS, FINE_BITS = 14, 36  # cells along the bounding cube of a set, and cells along a cell
NAME_BITS, TIE_BITS = 32, 30  # of a key: the name of the point's cell, and its place inside
KEY_BITS = NAME_BITS + TIE_BITS
# Coordinates at simple fractions of the cube, such as a plane of symmetry, lie inside a cell and not on its border.
OFFSET = int(0.381966 * 2**FINE_BITS)
LOW = (1 << 32) - 1
CHUNK = 1 << 15  # points whose intermediate results fit in the cache

Integer = TypeVar("Integer", int, Tensor)


@torch.no_grad()
def point_keys(points: Tensor, mask: Tensor | None = None, ptr: Integers | None = None) -> Tensor:
    """A hash of each point's position in its set, 62 bits: (batch, n), or (total,) for packed sets.

        cell = floor(2^14 (p - low) / side + 0.38),    key = 2^30 hash(cell) + hash(place inside the cell)

    `low` and `side` are the corner and the side of the set's bounding cube, which no order of the points changes, nor
    do units or a shift of the whole set. Rounding makes keys robust: positions that differ in their last bits, as after
    a normalisation on another device, have the same cell except near its border. The place inside the cell, to about
    the last bit of float64, only orders points that share a cell. Points at one place have one key. We use arithmetic
    that ONNX has, too: it cannot read the bits of a float.

    Args:
        points: (batch, n, coordinates), or packed (total, coordinates) together with `ptr`.
        mask: (batch, n), True where a point is real. The keys of padding have no meaning.
        ptr: (sets + 1,), the start and end of each packed set.
    """
    points, ptr = check_points(points, "points", mask, ptr)
    planes = points.detach().movedim(-1, 0).contiguous()  # one plane per coordinate
    if planes.numel() == 0:
        return torch.zeros(planes.shape[1:], dtype=torch.int64, device=points.device)
    low, side = _cube(planes, mask, ptr)
    tracing = exporting() or torch.compiler.is_compiling()
    if tracing or ptr is not None or planes.device.type != "cpu" or planes[0].numel() <= CHUNK:
        return _keys(planes, low, side)
    rows = max(1, CHUNK // planes.shape[1])
    return torch.cat([_keys(some, low, side) for some in planes.split(rows, -1)], -1)


def canonical_order(points: Tensor, mask: Tensor | None = None, ptr: Tensor | None = None) -> Tensor:
    """The indices that sort the points of each set by their keys, as `sort_in_sets` gives them.

    Any order of a set gives the same list of points. Points at one place keep their order.
    """
    return sort_in_sets(point_keys(points, mask, ptr), mask, ptr)


def sort_in_sets(keys: Tensor, mask: Tensor | None, ptr: Tensor | None) -> Tensor:
    """The indices that sort keys of 62 bits (..., n) within their sets: the padding last, packed sets one by one."""
    if mask is not None:
        keys = keys.masked_fill(~mask, 1 << KEY_BITS)
    order = sorted_keys(keys)
    if ptr is None:
        return order
    # All sets were sorted together; no bits of a key are left for the number of the set.
    return order.gather(-1, sorted_keys(segments(ptr, keys.shape[-1])[order]))


def sorted_keys(keys: Tensor) -> Tensor:
    """The indices that sort keys below 2^63 along the last axis; of equal ones, the first comes first.

    ONNX has no stable sort. There we look for the n smallest, and torch leaves open which of equal ones comes first: a
    second search orders them by their places.
    """
    if exporting():
        n = keys.shape[-1]
        values, order = torch.topk(keys, n, dim=-1, largest=False)
        # By index, and not by slices of n - 1 keys: a graph with those would ask for three points at least.
        previous = values.index_select(-1, torch.arange(-1, n - 1, device=keys.device).clamp(min=0))
        run = (values != previous).long().cumsum(-1)
        return order.gather(-1, torch.topk(run * n + order, n, dim=-1, largest=False).indices)
    if not torch.compiler.is_compiling() and keys.numel() == keys.shape[-1]:
        return torch.argsort(keys.flatten(), stable=True).view_as(keys)  # a radix sort, twice as fast
    return torch.argsort(keys, dim=-1, stable=True)


def scramble(value: Integer) -> Integer:
    """An invertible 32-bit hash in 64-bit integers; the factors are below 2^31, so no product overflows.

    It is short on purpose: a compiler that inlines repeated terms doubles its work at each of the three steps.
    """
    value = ((value ^ (value >> 16)) * 0x7FEB352D) & LOW
    value = ((value ^ (value >> 15)) * 0x2C1B3C6D) & LOW
    return value ^ (value >> 16)


def _cube(planes: Tensor, mask: Tensor | None, ptr: Tensor | None) -> tuple[Tensor, Tensor]:
    """The low corner (coordinates, ...) and the side (...) of each set's bounding cube, to broadcast with planes."""
    # A float32 division would put one point in a thousand on another side of a border than a compiled graph does.
    wide = torch.float32 if planes.device.type == "mps" else torch.float64
    if ptr is not None:
        number = segments(ptr, planes.shape[1]).expand_as(planes)
        none = planes.new_zeros(len(planes), len(ptr) - 1)
        low, high = (none.scatter_reduce(1, number, planes, most, include_self=False) for most in ("amin", "amax"))
        low, high = low.gather(1, number), high.gather(1, number)
    else:
        least = planes if mask is None else planes.masked_fill(~mask, torch.inf)
        most = planes if mask is None else planes.masked_fill(~mask, -torch.inf)
        low, high = least.amin(-1, keepdim=True), most.amax(-1, keepdim=True)
    low, high = low.to(wide), high.to(wide)
    side = (high - low).amax(0)
    return low, torch.where(side > 0, side, 1)


def _keys(planes: Tensor, low: Tensor, side: Tensor) -> Tensor:
    name = tie = torch.zeros((), dtype=torch.int64, device=planes.device)
    for plane, corner in zip(planes.unbind(0), low.unbind(0), strict=True):
        share = ((plane.to(low.dtype) - corner) / side).clamp(0.0, 1.0)  # padding lies anywhere
        cell = (share * 2.0 ** (COARSE_BITS + FINE_BITS)).long() + OFFSET
        name, tie = _mixed(name, cell >> FINE_BITS), _mixed(tie, cell & ((1 << FINE_BITS) - 1))
    return (scramble(name) << TIE_BITS) | (tie >> (32 - TIE_BITS))


def _mixed(value: Tensor, more: Tensor) -> Tensor:
    """A 32-bit hash of a 32-bit hash and one more number; the product stays below 2^63."""
    value = ((value ^ more ^ (more >> 32)) & LOW) * 0x7FEB352D & LOW
    return value ^ (value >> 15)
