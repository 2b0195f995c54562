"""Sets of points in the three forms that everything here takes: the one place that checks and converts them.

| form   | tensors                                                                              |
|--------|--------------------------------------------------------------------------------------|
| plain  | (batch, n, ...): every set has n points                                              |
| padded | (batch, n, ...) and `mask` (batch, n): True where a point is real                     |
| packed | (total, ...) and `ptr` (sets + 1,): set i is the rows ptr[i] to ptr[i + 1]             |

PyTorch Geometric also writes packed sets with a batch vector (total,), the number of each point's set: `segments` and
`ptr_from_batch` convert between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

Names = tuple[str, str, str, str]  # two arguments, and the prefixes of their masks and ptrs


class NotFiniteError(ValueError):
    """Coordinates that are NaN or infinite."""


@dataclass(frozen=True)
class Sets:
    """How the points of a call fall into sets: plain (neither), padded (mask) or packed (ptr)."""

    mask: Tensor | None = None  # (batch, n), True where a point is real
    ptr: Tensor | None = None  # (sets + 1,), int64


def check_points(
    points: Tensor, name: str, mask: Tensor | None, ptr: Tensor | None, prefix: str = ""
) -> tuple[Tensor, Tensor | None]:
    """Check points and how they fall into sets; return them with the padding set to zero, and ptr as int64."""
    if ptr is not None and mask is not None:
        raise ValueError(f"{prefix}mask, {prefix}ptr: expected at most one of them, got both")
    if not isinstance(points, Tensor) or points.ndim != (3 if ptr is None else 2):
        expected = f"(batch, n, dimension), or (total, dimension) with {prefix}ptr"
        raise ValueError(f"{name}: expected a tensor of shape {expected}, got {describe(points)}")
    if not points.is_floating_point():
        raise ValueError(f"{name}: expected a floating-point type, got {points.dtype}")
    if points.shape[-1] == 0:
        raise ValueError(f"{name}: expected at least one coordinate, got the shape {tuple(points.shape)}")
    if ptr is not None:
        ptr = check_ptr(ptr, len(points), f"{prefix}ptr")
        check_device(ptr, points, f"{prefix}ptr", name)
    if mask is not None:
        check_mask(mask, points.shape[:2], f"{prefix}mask")
        check_device(mask, points, f"{prefix}mask", name)
        points = points.masked_fill(~mask.unsqueeze(-1), 0.0)
    check_finite(points, name)
    return points, ptr


def check_mask(mask: Tensor, shape: torch.Size, name: str = "mask") -> None:
    """Check that a mask is bool and has one entry per point."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != shape:
        raise ValueError(f"{name}: expected bool of shape {tuple(shape)}, got {describe(mask)}")


def check_ptr(ptr: Tensor, total: int | None, name: str = "ptr") -> Tensor:
    """Check that `ptr` cuts `total` points into sets, and return it as int64.

    The values are read only on the CPU: reading them elsewhere would make the device wait.
    """
    if not isinstance(ptr, Tensor) or ptr.dtype not in (torch.int32, torch.int64) or ptr.ndim != 1 or len(ptr) == 0:
        raise ValueError(f"{name}: expected int64 of shape (sets + 1,), got {describe(ptr)}")
    if ptr.device.type == "cpu" and not torch.compiler.is_compiling():
        if ptr[0] != 0 or bool((ptr.diff() < 0).any()):
            raise ValueError(f"{name}: expected values that start at 0 and never fall, got {_shorten(ptr)}")
        if total is not None and ptr[-1] != total:
            raise ValueError(f"{name}: expected the last value to be the number of points, {total}, got {int(ptr[-1])}")
    return ptr.long()


def check_pair(points: Tensor, others: Tensor, ptr: Tensor | None, other_ptr: Tensor | None, names: Names) -> None:
    """Check that two checked arguments hold the same number of sets in the same space and form."""
    name, other_name, prefix, other_prefix = names
    if (ptr is None) != (other_ptr is None):
        raise ValueError(f"{prefix}ptr, {other_prefix}ptr: expected both or neither, got one")
    sets = points.shape[0] if ptr is None else len(ptr) - 1
    other_sets = others.shape[0] if other_ptr is None else len(other_ptr) - 1
    if sets != other_sets:
        raise ValueError(f"{other_name}: expected {sets} sets, as many as {name} has, got {other_sets}")
    if points.shape[-1] != others.shape[-1]:
        expected = f"{points.shape[-1]} coordinates, as many as {name} has"
        raise ValueError(f"{other_name}: expected {expected}, got {others.shape[-1]}")
    check_device(others, points, other_name, name)


def check_device(value: Tensor, points: Tensor, name: str, points_name: str) -> None:
    if value.device != points.device:
        raise ValueError(f"{name}: expected the device of {points_name}, {points.device}, got {value.device}")


def check_finite(points: Tensor, name: str) -> None:
    """Refuse NaN and infinity, on the CPU only: elsewhere the device would have to wait."""
    if points.device.type != "cpu" or torch.compiler.is_compiling():
        return
    # One bad number spoils the sum, which takes a quarter of the time; a sum may also overflow by itself.
    if not bool(points.sum().isfinite() or points.isfinite().all()):
        raise NotFiniteError(f"{name}: expected finite coordinates, got NaN or infinity")


def describe(value: object) -> str:
    """What a caller passed, for an error message."""
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def _shorten(values: Tensor, most: int = 8) -> str:
    shown = values[:most].tolist()
    return str(shown) if len(values) <= most else f"{str(shown)[:-1]}, ...]"


def segments(ptr: Tensor, total: int) -> Tensor:
    """The batch vector of packed sets, (total,): the number of each point's set."""
    return torch.searchsorted(ptr[1:].contiguous(), torch.arange(total, device=ptr.device), right=True)


def ptr_from_batch(batch: Tensor, sets: int | None = None) -> Tensor:
    """The ptr of a batch vector (total,), which must be sorted; give `sets` where the last ones may be empty."""
    if batch.ndim != 1 or batch.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"batch: expected int64 of shape (total,), got {describe(batch)}")
    if len(batch) and (batch[0] < 0 or bool((batch.diff() < 0).any())):
        raise ValueError(f"batch: expected set numbers in ascending order, got {_shorten(batch)}")
    largest = int(batch[-1]) + 1 if len(batch) else 0
    if sets is not None and sets < largest:
        raise ValueError(f"sets: expected at least {largest}, the sets of the batch vector, got {sets}")
    counts = torch.bincount(batch, minlength=largest if sets is None else sets)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def pack_sets(points: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Padded sets (batch, n, ...) as packed points (total, ...) and ptr (batch + 1,)."""
    check_mask(mask, points.shape[:2])
    sizes = mask.sum(1)
    return points[mask], torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def pad_sets(points: Tensor, ptr: Tensor, sets: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Packed sets, all or those named, as padded points (sets, longest, ...) and mask (sets, longest)."""
    if sets is None:
        sets = torch.arange(len(ptr) - 1, device=ptr.device)
    begin = ptr[sets].unsqueeze(1)
    sizes = ptr[sets + 1].unsqueeze(1) - begin
    slot = torch.arange(int(sizes.max()) if len(sets) else 0, device=points.device)
    mask = slot < sizes
    return points[torch.where(mask, begin + slot, 0)], mask


def buckets(*ptrs: Tensor) -> Iterator[Tensor]:
    """Groups of set numbers whose sizes differ by at most a factor of two in each ptr: padding them wastes little."""
    sizes = torch.stack([ptr.diff() for ptr in ptrs])
    classes = torch.frexp(sizes.float()).exponent
    _, group = classes.unique(dim=1, return_inverse=True)
    for number in range(int(group.max()) + 1 if group.numel() else 0):
        yield (group == number).nonzero().squeeze(1)
