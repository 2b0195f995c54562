"""The largest of a group's values, whose gradient goes to one of them.

    y = max_j x_j,    dy/dx_j = 1 for one winner j, else 0

`torch.max` gives the winner, too, but compares one value at a time on a CPU, which takes a good part of the training
time of networks that pool groups of points; `benchmarks/group_max.py` measures it. `torch.amax` is fast but shares the
gradient among equal values, and looks for them in a second pass over the whole array.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..support.compiled import Compiled

SPARE_BITS = {torch.bfloat16: 16, torch.float16: 13}  # of a float32 that holds such a number


def group_max(x: Tensor, dim: int) -> Tensor:
    """The largest values along a dimension, exactly."""
    if not torch.is_grad_enabled():
        return x.amax(dim)
    special = torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()
    if special or not x.requires_grad or x.device.type != "cpu":
        return x.max(dim).values
    apply: Any = _GroupMax.apply  # torch gives it no types
    largest: Tensor = apply(x, dim % x.dim())
    return largest


class _GroupMax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int) -> Tensor:
        size = x.shape[dim]
        packs = size.bit_length() <= SPARE_BITS.get(x.dtype, 0)
        largest, winner = _packed(x, dim) if packs else _compared(x, dim)
        if packs and not largest.isfinite().all():  # an infinite number with further bits is none
            largest, winner = _compared(x, dim)
        ctx.save_for_backward(winner)
        ctx.dim, ctx.shape = dim, x.shape
        return largest

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (winner,) = ctx.saved_tensors
        gradient = gradients[0].unsqueeze(ctx.dim)
        winner = winner.long().unsqueeze(ctx.dim)
        return gradient.new_zeros(ctx.shape).scatter_(ctx.dim, winner, gradient), None


def _packed(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The largest values and their places: a float32 holds a narrower number, and its place in the bits to spare."""
    bits = SPARE_BITS[x.dtype]
    places = torch.arange(x.shape[dim], dtype=torch.int32).view(-1, *[1] * (x.dim() - dim - 1))
    packed = x.float().view(torch.int32).bitwise_or_(places).view(torch.float32)
    found = packed.amax(dim).view(torch.int32)
    return (found & -(1 << bits)).view(torch.float32).to(x.dtype), found & ((1 << bits) - 1)


@Compiled
def _compared(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    values, places = x.max(dim)
    return values, places
