"""What networks check about their inputs, and how they read sets in every form."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..geometry.gather import gather_rows
from ..geometry.point_keys import canonical_order
from ..sets import buckets, check_points, describe, pad_sets


def is_plain(points: object, width: int) -> bool:
    """Whether points are an ordinary tensor (batch, n, width)."""
    return isinstance(points, Tensor) and not points.is_nested and points.dim() == 3 and points.shape[2] == width


def check_width(points: Tensor, width: int, option: str = "") -> None:
    """Refuse points with another number of coordinates than the network takes; an option of that name sets it."""
    if points.shape[-1] != width:
        found = points.shape[-1]
        advice = f"; build it with {option}={found}" if option else ""
        raise ValueError(f"points: expected {width} coordinates, as the network was built for, got {found}{advice}")


def check_normals(normals: Tensor | None, points: Tensor, wanted: bool) -> None:
    """Refuse normals that the network does not read, missing ones, and those that do not match the points."""
    if not wanted:
        if normals is not None:
            raise ValueError(f"normals: expected None, as the network reads positions alone, got {describe(normals)}")
    elif normals is None:
        raise ValueError(f"normals: expected one per point, of shape {tuple(points.shape)}, got None")
    elif normals.shape != points.shape:
        raise ValueError(f"normals: expected the shape of the points {tuple(points.shape)}, got {tuple(normals.shape)}")


def canonical_rows(*parts: Tensor) -> tuple[Tensor, ...]:
    """The rows of plain sets, such as points and normals (batch, n, 3), in an order that they decide themselves.

    A network that begins so gives the same answer for any order of the points, whatever its later steps make of places:
    where the farthest points begin, and which of several equal ones they or a search of neighbours take.
    """
    order = canonical_order(torch.cat(parts, -1))
    return tuple(gather_rows(part, order) for part in parts)


def apply_per_set(
    read: Callable[[Tensor, Tensor | None], Tensor],
    points: Tensor,
    mask: Tensor | None,
    ptr: Tensor | None,
) -> Tensor:
    """The rows of `read(points, mask)`, one per set, for plain, padded and packed points.

    Packed sets are padded in groups of similar sizes, so that padding at most doubles the work.
    """
    points, ptr = check_points(points, "points", mask, ptr)
    if ptr is None:
        return read(points, mask)
    groups = list(buckets(ptr))
    if not groups:
        return read(points.new_zeros(0, 1, points.shape[-1]), None)
    rows = [read(*pad_sets(points, ptr, sets)) for sets in groups]
    return torch.cat(rows)[torch.cat(groups).argsort()]
