"""Sort points along a space-filling curve, so that neighbours in the order are close in space."""

from typing import Literal

import torch
from torch import Tensor

from ..sets import Integers, check_points, segments
from .precision import wide_dtype
from .tracing import uncompiled


@uncompiled
@torch.no_grad()
def space_filling_order(
    points: Tensor,
    curve: Literal["morton", "hilbert"] = "morton",
    *,
    bits: int = 10,
    mask: Tensor | None = None,
    ptr: Integers | None = None,
    batch: Integers | None = None,
) -> Tensor:
    """The indices that sort the points of each set along a Morton or Hilbert curve.

    We divide the bounding cube of each set into 2**bits cells along every axis. Points in the same cell keep their
    order.

    Args:
        points: (batch, n, dimension), or packed (total, dimension) together with `ptr` or `batch`.
        curve: "morton" is cheaper; "hilbert" has no jumps, because consecutive cells share a face.
        bits: Resolution; dimension * bits may be at most 62.
        mask: (batch, n), True where a point is real.
        ptr: (sets + 1,), the start and end of each packed set.
        batch: (total,), the number of each point's set, instead of ptr.

    Returns:
        Padded: (batch, n), real points first, then -1. Packed: (total,), row indices, one set after the other.
    """
    if curve not in ("morton", "hilbert"):
        raise ValueError(f'curve: expected "morton" or "hilbert", got {curve!r}')
    points, ptr = check_points(points, "points", mask, ptr, batch=batch)
    dimension = points.shape[-1]
    if dimension > 62:
        raise ValueError(f"points: expected at most 62 coordinates for a curve, got {dimension}")
    if bits < 1 or dimension * bits > 62:
        raise ValueError(f"bits: expected 1 to {62 // dimension} for {dimension} coordinates, got {bits}")
    if points.numel() == 0:
        return points.new_empty(points.shape[:-1], dtype=torch.int64)
    axes = _cells(points.to(wide_dtype(points)), bits, mask, ptr)
    code = _interleave(axes if curve == "morton" else _hilbert(axes, bits), bits)
    if ptr is not None:
        order = code.argsort(stable=True)
        return order[segments(ptr, points.shape[0])[order].argsort(stable=True)]
    if mask is None:
        return code.argsort(dim=1, stable=True)
    order = code.masked_fill(~mask, torch.iinfo(torch.int64).max).argsort(dim=1, stable=True)
    return order.masked_fill(~mask.gather(1, order), -1)


@torch.no_grad()
def curve_codes(
    points: Tensor,
    low: Tensor,
    side: Tensor,
    curve: Literal["morton", "hilbert"] = "morton",
    *,
    bits: int = 10,
) -> Tensor:
    """Where points (n, dimension) lie along the curve through a cube, as whole numbers (n,).

    Sorting by them is what `space_filling_order` does, for sets that do not fit in memory.

    Args:
        points: Points in the cube.
        low: The lowest corner of the cube, (dimension,).
        side: The length of its sides.
        curve: As in `space_filling_order`.
        bits: As in `space_filling_order`.
    """
    axes = _numbers(points.to(wide_dtype(points)), low, side, bits)
    return _interleave(axes if curve == "morton" else _hilbert(axes, bits), bits)


def _cells(points: Tensor, bits: int, mask: Tensor | None, ptr: Tensor | None) -> list[Tensor]:
    """The cell of each point in the bounding cube of its set: one integer tensor per axis."""
    if ptr is not None:
        number = segments(ptr, points.shape[0]).unsqueeze(1).expand_as(points)
        none = points.new_zeros(len(ptr) - 1, points.shape[-1])
        low = none.scatter_reduce(0, number, points, "amin", include_self=False)
        high = none.scatter_reduce(0, number, points, "amax", include_self=False)
        low, side = low.gather(0, number), (high - low).amax(1, keepdim=True).expand_as(low).gather(0, number)
    else:
        outside = torch.zeros_like(points[..., :1], dtype=torch.bool) if mask is None else ~mask.unsqueeze(-1)
        low = points.masked_fill(outside, torch.inf).amin(1, keepdim=True)
        high = points.masked_fill(outside, -torch.inf).amax(1, keepdim=True)
        side = (high - low).amax(2, keepdim=True)
    return _numbers(points, low, side, bits)


def _numbers(points: Tensor, low: Tensor, side: Tensor, bits: int) -> list[Tensor]:
    tiny = torch.finfo(points.dtype).tiny
    cells = ((points - low) / side.clamp(min=tiny) * 2**bits).clamp(0, 2**bits).long().clamp(max=2**bits - 1)
    return list(cells.unbind(-1))


def _hilbert(axes: list[Tensor], bits: int) -> list[Tensor]:
    """Turn cells into the transposed Hilbert index (Skilling, "Programming the Hilbert curve", 2004)."""
    axes = list(axes)
    for bit in range(bits - 1, 0, -1):
        low_bits = (1 << bit) - 1
        for axis, value in enumerate(axes):
            inverted = (value >> bit & 1).bool()
            swapped = torch.where(inverted, 0, (axes[0] ^ value) & low_bits)
            axes[axis] = value ^ swapped
            axes[0] = axes[0] ^ torch.where(inverted, low_bits, swapped)
    for axis in range(1, len(axes)):
        axes[axis] = axes[axis] ^ axes[axis - 1]
    flip = torch.zeros_like(axes[0])
    for bit in range(bits - 1, 0, -1):
        flip = flip ^ ((axes[-1] >> bit & 1) * ((1 << bit) - 1))
    return [value ^ flip for value in axes]


def _interleave(axes: list[Tensor], bits: int) -> Tensor:
    """Interleave the bits of all axes into one integer, from the highest bit down, beginning with the first axis."""
    code = torch.zeros_like(axes[0])
    for bit in range(bits - 1, -1, -1):
        for value in axes:
            code = code << 1 | (value >> bit & 1)
    return code
