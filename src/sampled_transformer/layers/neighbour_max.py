"""The largest of what a point's neighbours offer, without ever holding what all of them offer.

    out_ic = max_{j in kNN(i)} (x_jc + sum_a W_ca o_ija)

Written out, the k candidates of n points are an array (n, k, width). We go through the neighbours one by one instead
and keep the largest so far, (n, width), so that the intermediate results stay in the cache. The gradient goes to the
winners alone: it is k times smaller than that of the array, too.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

MOST = 256  # neighbours; their number takes up to 8 of the 24 bits of a float32


def neighbour_max(x: Tensor, weight: Tensor, neighbours: Tensor, offsets: Tensor) -> Tensor:
    """The maximum above in float32, (n, width).

    Where gradients flow, the number of the winner takes the place of the last bits of a candidate, 4 of 24 for 16
    neighbours: comparing masks would take several times as long as the whole sum. Without gradients it is exact.

    Args:
        x: What each of m points offers, (m, width).
        weight: W, (width, numbers).
        neighbours: Rows of x, (n, k).
        offsets: o, the way to each neighbour, (n, k, numbers); no gradient flows to it.
    """
    if neighbours.shape[1] > MOST:
        raise ValueError(f"neighbours: expected at most {MOST}, got {neighbours.shape[1]}")
    if torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad):
        apply: Any = _NeighbourMax.apply  # torch gives it no types
        found: Tensor = apply(x, weight, neighbours, offsets)
        return found
    return _largest(x, weight, neighbours, offsets, 0)


def _largest(x: Tensor, weight: Tensor, neighbours: Tensor, offsets: Tensor, bits: int) -> Tensor:
    """The largest candidates (n, width); their last `bits` bits are the number of the neighbour."""
    best = None
    columns, ways = neighbours.t().contiguous(), offsets.float().transpose(0, 1).contiguous()
    with torch.autocast(x.device.type, enabled=False):
        x, weight = x.float(), weight.float().t().contiguous()
        for number in range(len(columns)):
            candidate = torch.addmm(x.index_select(0, columns[number]), ways[number], weight)
            if bits:
                candidate.view(torch.int32).bitwise_and_(-1 << bits).bitwise_or_(number)
            best = candidate if best is None else torch.maximum(best, candidate)
    assert best is not None
    return best


class _NeighbourMax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, neighbours: Tensor, offsets: Tensor) -> Tensor:
        bits = max(1, (neighbours.shape[1] - 1).bit_length())
        best = _largest(x, weight, neighbours, offsets, bits)
        winner = best.view(torch.int32).bitwise_and((1 << bits) - 1)
        ctx.save_for_backward(neighbours, offsets, winner.to(torch.uint8))
        ctx.rows, ctx.dtypes = len(x), (x.dtype, weight.dtype)
        return best

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        neighbours, offsets, winner = ctx.saved_tensors
        gradient, winner = gradients[0].float(), winner.long()
        to_points = to_weight = None
        if ctx.needs_input_grad[0]:
            rows = neighbours.gather(1, winner)
            sums = gradient.new_zeros(ctx.rows, gradient.shape[1]).scatter_add_(0, rows, gradient)
            to_points = sums.to(ctx.dtypes[0])
        if ctx.needs_input_grad[1]:
            columns = [(offsets[:, :, axis].gather(1, winner) * gradient).sum(0) for axis in range(offsets.shape[2])]
            to_weight = torch.stack(columns, 1).to(ctx.dtypes[1])
        return to_points, to_weight, None, None
