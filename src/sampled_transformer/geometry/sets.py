"""What the geometry functions share: checks of their arguments, and the way from packed sets to padded ones."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

import torch
from torch import Tensor

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Names = tuple[str, str, str, str]  # two arguments, and the prefixes of their masks and ptrs


class NotFiniteError(ValueError):
    """Coordinates that are no numbers."""


def check_points(points: Tensor, name: str, mask: Tensor | None, ptr: Tensor | None, prefix: str = "") -> Tensor:
    """Raise a ValueError that names the argument, or return the points with their padding, if any, set to zero."""
    if ptr is not None and mask is not None:
        raise ValueError(
            f"{prefix}mask and {prefix}ptr exclude each other: give mask for padded sets, ptr for packed ones"
        )
    if not isinstance(points, Tensor) or points.ndim != (3 if ptr is None else 2):
        expected = f"(batch, n, dimension), or (total, dimension) with {prefix}ptr"
        raise ValueError(f"{name} must be a tensor of shape {expected}, got {_describe(points)}")
    if not points.is_floating_point():
        raise ValueError(f"{name} must be of a floating-point type, got {points.dtype}")
    if points.shape[-1] == 0:
        raise ValueError(f"{name} must have at least one coordinate, got shape {tuple(points.shape)}")
    if ptr is not None:
        check_ptr(ptr, points, f"{prefix}ptr", name)
    if mask is not None:
        check_mask(mask, points, f"{prefix}mask", name)
        points = points.masked_fill(~mask.unsqueeze(-1), 0.0)
    if points.device.type == "cpu" and not torch.compiler.is_compiling() and not _finite(points):
        raise NotFiniteError(f"{name} must be finite, got NaN or infinite coordinates")
    return points


def check_mask(mask: Tensor, points: Tensor, name: str, points_name: str) -> None:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != points.shape[:2]:
        expected = f"{tuple(points.shape[:2])} to fit {points_name}"
        raise ValueError(f"{name} must be a bool tensor of shape {expected}, got {_describe(mask)}")
    _check_device(mask, points, name, points_name)


def check_ptr(ptr: Tensor, points: Tensor, name: str, points_name: str) -> None:
    if not isinstance(ptr, Tensor) or ptr.dtype != torch.int64 or ptr.ndim != 1 or len(ptr) == 0:
        raise ValueError(f"{name} must be an int64 tensor of shape (sets + 1,), got {_describe(ptr)}")
    _check_device(ptr, points, name, points_name)
    if ptr[0] != 0 or ptr[-1] != len(points) or (ptr.diff() < 0).any():
        raise ValueError(f"{name} must rise from 0 to the {len(points)} rows of {points_name}")


def check_pair(points: Tensor, others: Tensor, ptr: Tensor | None, other_ptr: Tensor | None, names: Names) -> None:
    """Raise a ValueError unless two checked arguments hold the same number of sets in the same space and form."""
    name, other_name, prefix, other_prefix = names
    if (ptr is None) != (other_ptr is None):
        raise ValueError(f"{prefix}ptr and {other_prefix}ptr must be given together")
    sets = points.shape[0] if ptr is None else len(ptr) - 1
    other_sets = others.shape[0] if other_ptr is None else len(other_ptr) - 1
    if sets != other_sets:
        raise ValueError(f"{other_name} must hold as many sets as {name}, {sets}, got {other_sets}")
    if points.shape[-1] != others.shape[-1]:
        raise ValueError(f"{other_name} must have the {points.shape[-1]} coordinates of {name}, got {others.shape[-1]}")
    _check_device(others, points, other_name, name)


def _check_device(value: Tensor, points: Tensor, name: str, points_name: str) -> None:
    if value.device != points.device:
        raise ValueError(f"{name} must be on the device of {points_name}, {points.device}, got {value.device}")


def _finite(points: Tensor) -> bool:
    # one number out of range spoils the sum, which takes a quarter of the time; a sum may also overflow by itself
    return bool(points.sum().isfinite() or points.isfinite().all())


def _describe(value: object) -> str:
    return f"{value.dtype} {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__


def exporting() -> bool:
    # torch 2.6 cannot tell export from compilation; taking one for the other there costs speed, not correctness
    return getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)()


def uncompiled(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Leave a function of many small steps out of compilation, which takes minutes for it; export still traces it."""
    eager = torch.compiler.disable(function)

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return (function if exporting() else eager)(*args, **kwargs)

    return call


def wide_dtype(*tensors: Tensor) -> torch.dtype:
    """The type to compare distances in: float64 on the CPU, where it is cheap; elsewhere at least float32."""
    return torch.float64 if tensors[0].device.type == "cpu" else result_dtype(*tensors)


def result_dtype(*tensors: Tensor) -> torch.dtype:
    """float64 if an argument is, else float32: distances in half precision have too few digits to be of use."""
    return torch.float64 if any(tensor.dtype == torch.float64 for tensor in tensors) else torch.float32


def buckets(*ptrs: Tensor) -> Iterator[Tensor]:
    """Groups of set numbers, alike in size to a factor of two in each ptr, so that padding a group wastes little."""
    sizes = torch.stack([ptr.diff() for ptr in ptrs])
    classes = torch.frexp(sizes.float()).exponent
    _, group = classes.unique(dim=1, return_inverse=True)
    for number in range(int(group.max()) + 1 if group.numel() else 0):
        yield (group == number).nonzero().squeeze(1)


def pad_sets(points: Tensor, ptr: Tensor, sets: Tensor) -> tuple[Tensor, Tensor]:
    """The named sets of a packed tensor as padded points (sets, longest, dimension) and mask (sets, longest)."""
    begin = ptr[sets].unsqueeze(1)
    sizes = ptr[sets + 1].unsqueeze(1) - begin
    slot = torch.arange(int(sizes.max()), device=points.device)
    mask = slot < sizes
    return points[torch.where(mask, begin + slot, 0)], mask


def segments(ptr: Tensor, total: int) -> Tensor:
    """The number of the set to which each packed point belongs, (total,)."""
    return torch.searchsorted(ptr[1:].contiguous(), torch.arange(total, device=ptr.device), right=True)
