"""Farthest point sampling (Eldar et al., 1997), as used by PointNet++, Point-BERT and Point-MAE."""

from typing import overload

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..sets import Integers, buckets, check_points, pad_sets
from .farthest_blocks import choose_in_blocks
from .precision import result_dtype
from .squares import sum_of_squares
from .tracing import exporting, uncompiled

LARGE, LARGE_COUNT, LARGE_DIMENSION = 16384, 256, 6  # from here on farthest_blocks.py is faster
BLOCK = 128  # torch vectorises max but not argmax, so we search for the index only in the block with the maximum


@overload
def farthest_points(
    points: Tensor, count: int, *, start: int | Tensor = 0, mask: Tensor | None = None, ptr: None = None
) -> Tensor: ...
@overload
def farthest_points(
    points: Tensor, count: int | Tensor, *, start: int | Tensor = 0, mask: None = None, ptr: Integers
) -> tuple[Tensor, Tensor]: ...
@overload
def farthest_points(
    points: Tensor, count: int | Tensor, *, start: int | Tensor = 0, batch: Integers
) -> tuple[Tensor, Tensor]: ...
@uncompiled
@torch.no_grad()
def farthest_points(
    points: Tensor,
    count: int | Tensor,
    *,
    start: int | Tensor = 0,
    mask: Tensor | None = None,
    ptr: Integers | None = None,
    batch: Integers | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Choose `count` points per set: first `start`, then repeatedly the point farthest from all points chosen so far.

        next = argmax_i min_{j chosen} |x_i - x_j|

    Ties go to the lowest index. No point is chosen twice, even if points coincide. For 16,384 or more points and a
    count of at least 256, the CPU version updates only those blocks of points that a new choice can change.

    Args:
        points: (batch, n, dimension), or packed (total, dimension) together with `ptr` or `batch`.
        count: Number of points to choose; for packed sets also one number per set, (sets,).
        start: First point, as an index among the real points of its set: one number, or one per set.
        mask: (batch, n), True where a point is real.
        ptr: (sets + 1,), the start and end of each packed set.
        batch: (total,), the number of each point's set, instead of ptr.

    Returns:
        Padded: indices (batch, min(count, n)), with -1 once a set has no points left.
        Packed: row indices (sum of min(count_i, n_i),), one set after the other, and their ptr (sets + 1,).
    """
    points, ptr = check_points(points, "points", mask, ptr, batch=batch)
    sets = points.shape[0] if ptr is None else len(ptr) - 1
    first = _one_per_set(start, "start", sets, points.device)
    if ptr is None and isinstance(count, Tensor):
        raise ValueError("count: expected one integer for padded sets, got a tensor")
    smallest = min(count.flatten().tolist(), default=1) if isinstance(count, Tensor) else count
    if smallest < 1:
        raise ValueError(f"count: expected at least 1, got {smallest}")
    if ptr is not None:
        return _packed(points, _one_per_set(count, "count", sets, points.device), first, ptr)
    assert not isinstance(count, Tensor)
    return _padded(points, count, first, mask)  # not int(count), which would fix its value in an exported graph


def _one_per_set(value: int | Tensor, name: str, sets: int, device: torch.device) -> Tensor:
    values = value if isinstance(value, Tensor) else torch.full((sets,), value, device=device)
    if values.dtype != torch.int64 or values.shape != (sets,):
        expected = f"an integer or an int64 tensor of shape ({sets},)"
        raise ValueError(f"{name}: expected {expected}, got {values.dtype} of shape {tuple(values.shape)}")
    return values.to(device)


def _padded(points: Tensor, count: int, start: Tensor, mask: Tensor | None) -> Tensor:
    batch, n = points.shape[:2]
    count = min(count, n)
    if batch == 0 or n == 0:
        return points.new_empty((batch, count), dtype=torch.int64)
    if mask is None:
        sizes = torch.full_like(start, n)
        first = start
    else:
        sizes = mask.sum(1)
        first = ((mask.cumsum(1) == start.unsqueeze(1) + 1) & mask).int().argmax(1)
    if not exporting() and ((start < 0) | ((start >= sizes) & (sizes > 0))).any():
        raise ValueError("start: expected the index of a real point in each set, got an index out of range")
    if exporting():
        chosen = _choose_traced(points, count, first, mask)
    elif points.device.type == "cpu" and n >= LARGE and count >= LARGE_COUNT and points.shape[2] <= LARGE_DIMENSION:
        return _choose_large(points, count, start, mask)
    else:
        chosen = _choose(points, count, first, mask)
    if mask is not None:
        chosen.masked_fill_(torch.arange(count, device=points.device) >= sizes.unsqueeze(1), -1)
    return chosen


def _choose(points: Tensor, count: int, first: Tensor, mask: Tensor | None) -> Tensor:
    """The main loop. One plane per coordinate and in-place operations let it read memory in order."""
    batch, n, dimension = points.shape
    blocks = -(-n // BLOCK)
    width = blocks * BLOCK
    planes = pad(points.permute(2, 0, 1).to(result_dtype(points)), (0, width - n)).contiguous()
    nearest = torch.full_like(planes[0], -1.0)  # squared distance to the chosen points; -1 excludes a point
    nearest[:, :n] = torch.inf if mask is None else torch.where(mask, torch.inf, -1.0)
    # We create the views once: for small sets they would take as long as the arithmetic.
    flat_planes, flat_nearest = planes.view(dimension, -1), nearest.view(-1)
    in_blocks, block_rows = nearest.view(batch, blocks, BLOCK), nearest.view(-1, BLOCK)
    offset = torch.empty_like(planes)
    (total, *others), centre = offset.unbind(), planes.new_empty((dimension, batch))
    sets = torch.arange(batch, device=points.device)
    set_begin, block_begin, centre_column = sets * width, sets * blocks, centre.unsqueeze(2)
    latest = first + set_begin  # an index into the flattened batch, valid for all planes
    chosen = [latest]
    while len(chosen) < count:
        torch.index_select(flat_planes, 1, latest, out=centre)
        torch.sub(planes, centre_column, out=offset)
        torch.mul(offset, offset, out=offset)  # `sum_of_squares`, without new memory
        for square in others:
            total.add_(square)
        torch.minimum(nearest, total, out=nearest)
        flat_nearest.index_fill_(0, latest, -1.0)
        block = in_blocks.amax(2).argmax(1).add_(block_begin)
        latest = torch.add(block_rows.index_select(0, block).argmax(1), block, alpha=BLOCK)
        chosen.append(latest)
    return torch.stack(chosen, 1) - set_begin.unsqueeze(1)


def _choose_large(points: Tensor, count: int, start: Tensor, mask: Tensor | None) -> Tensor:
    """One set after the other with `choose_in_blocks`."""
    chosen = start.new_full((len(points), count), -1)
    everything = torch.arange(points.shape[1])
    for number, cloud in enumerate(points):
        real = everything if mask is None else everything[mask[number]]
        kept = min(count, len(real))
        if kept:
            chosen[number, :kept] = real[choose_in_blocks(cloud[real], kept, int(start[number]))]
    return chosen


def _choose_traced(points: Tensor, count: int, first: Tensor, mask: Tensor | None) -> Tensor:
    """The same loop as one node of an exported graph, whose `count` may depend on the number of points."""
    from torch._higher_order_ops import while_loop  # torch.export knows no other loop, and it has no public name yet

    points = points.to(result_dtype(points))
    real = torch.ones_like(points[..., 0], dtype=torch.bool) if mask is None else mask
    places = torch.arange(points.shape[1], device=points.device)
    steps = torch.arange(count, device=points.device)

    def unfinished(step: Tensor, chosen: Tensor, latest: Tensor, nearest: Tensor) -> Tensor:
        return step < count

    def choose(step: Tensor, chosen: Tensor, latest: Tensor, nearest: Tensor) -> tuple[Tensor, ...]:
        centre = points.gather(1, latest.unsqueeze(2).expand(-1, -1, points.shape[2]))
        squared = sum_of_squares((points - centre).unbind(2))
        nearest = torch.minimum(nearest, squared).masked_fill(places == latest, -1.0)
        latest = nearest.argmax(1, keepdim=True)
        return step + 1, torch.where(steps == step, latest, chosen), latest, nearest

    latest = first.unsqueeze(1)
    chosen = latest.expand(-1, count).clone()
    nearest = torch.where(real, torch.inf, -1.0).to(points.dtype)
    start = torch.ones((), dtype=torch.int64, device=points.device)
    result: Tensor = while_loop(unfinished, choose, (start, chosen, latest, nearest))[1]
    return result


def _packed(points: Tensor, counts: Tensor, start: Tensor, ptr: Tensor) -> tuple[Tensor, Tensor]:
    kept = torch.minimum(counts, ptr.diff())
    ptr_out = torch.cat([ptr[:1], kept.cumsum(0)])
    out = points.new_empty(int(ptr_out[-1]), dtype=torch.int64)
    for sets in buckets(ptr):
        padded, mask = pad_sets(points, ptr, sets)
        chosen = _padded(padded, int(counts[sets].max()), start[sets], mask)
        rank = torch.arange(chosen.shape[1], device=points.device)
        wanted = rank < kept[sets].unsqueeze(1)
        out[(ptr_out[sets].unsqueeze(1) + rank)[wanted]] = (chosen + ptr[sets].unsqueeze(1))[wanted]
    return out, ptr_out
