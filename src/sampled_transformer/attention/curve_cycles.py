"""Cycles along a space-filling curve, whose successors are near in space; not part of the paper."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ..cycles import Cycle, seeded_keys
from ..geometry.curves import space_filling_order
from ..geometry.gather import gather_rows
from ..geometry.point_keys import canonical_order
from ..sets import Sets


def random_turn(dimension: int, generator: torch.Generator | None, device: torch.device) -> Tensor:
    """A rotation or reflection, uniform over all of them."""
    if generator is None:
        numbers = torch.randn(dimension, dimension, device=device)
    else:
        numbers = torch.randn(dimension, dimension, generator=generator, device=generator.device).to(device)
    return _orthogonal(numbers)


def seeded_turn(dimension: int, seed: tuple[int, ...], device: torch.device) -> Tensor:
    """The rotation or reflection that belongs to a seed; no random state is read."""
    index = torch.arange(dimension * dimension, device=device)
    uniform = (seeded_keys(seed, 1, index)[0].double() + 0.5) / 2**32
    return _orthogonal(torch.special.ndtri(uniform).float().view(dimension, dimension))


def _orthogonal(numbers: Tensor) -> Tensor:
    factor, triangle = torch.linalg.qr(numbers.double())
    turn: Tensor = factor * triangle.diagonal().sign()
    return turn


def curve_cycle(
    positions: Tensor, turn: Tensor, curve: Literal["morton", "hilbert"], sets: Sets, ordered: bool = False
) -> Cycle:
    """The cycle through the points in their order along the curve, after `turn` has rotated them.

    Positions alone decide, so the order in which the points are given does not matter. Only points in one cell of the
    curve's finest grid follow each other as they are given or, if `ordered`, in their canonical order.
    """
    points, mask = positions if sets.ptr is None else positions[0], sets.mask
    first = canonical_order(points, mask, sets.ptr) if ordered else None
    if first is not None:
        points = gather_rows(points, first) if sets.ptr is None else points[first]
        mask = None if mask is None else mask.gather(1, first)
    bits = min(20, 62 // positions.shape[-1])
    order = space_filling_order(points.double() @ turn, curve, bits=bits, mask=mask, ptr=sets.ptr)
    if first is not None:
        order = torch.where(order < 0, -1, first.gather(-1, order.clamp(min=0)))
    return Cycle.from_order(order[None], sets.ptr) if sets.ptr is not None else Cycle.from_order(order[:, None])


def join_heads(one: Cycle, two: Cycle, batch: int) -> Cycle:
    """A cycle whose first heads walk `one` and whose last heads walk `two`."""

    def spread(x: Tensor, cycle: Cycle) -> Tensor:
        return x if cycle.order.dim() == 3 or cycle.ptr is not None else x.expand(batch, *x.shape)

    order = torch.cat([spread(one.order, one), spread(two.order, two)], -2)
    return Cycle(order, torch.cat([spread(one.successor, one), spread(two.successor, two)], -2), one.ptr)
