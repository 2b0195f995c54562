"""Sets of points in all forms that callers may use: the one place that checks and converts them.

| form   | tensors                                                                              |
|--------|--------------------------------------------------------------------------------------|
| plain  | (batch, n, ...): every set has n points                                              |
| padded | (batch, n, ...) and `mask` (batch, n): True where a point is real                     |
| packed | (total, ...) and `ptr` (sets + 1,): set i is the rows ptr[i] to ptr[i + 1]             |
| packed | (total, ...) and `batch` (total,): the number of each point's set, in ascending order |
| nested | `torch.nested` tensors (batch, ragged, ...)                                          |

Mechanisms compute with the first three. `settle_form` turns the last two into packed sets with `ptr`; `restore_form`
turns results back into nested tensors. `ptr` and `batch` may be tensors, lists or numpy arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Names = tuple[str, str, str, str]  # two arguments, and the prefixes of their masks and ptrs
Integers = Tensor | Sequence[int] | np.ndarray[Any, Any]  # how a caller may write a ptr or a batch vector

# Masks of other libraries, and what to write here instead. Only ours are called `mask`.
FOREIGN_MASKS = {
    "key_padding_mask": "mask=~key_padding_mask, as True means padding there and a real point here",
    "src_key_padding_mask": "mask=~src_key_padding_mask, as True means padding there and a real point here",
    "padding_mask": "mask=~padding_mask if True means padding there, as it means a real point here",
    "attention_mask": "mask=attention_mask.bool(), as 1 means a real point there and True here",
    "attn_mask": "mask (batch, n) for padding, as the mechanism itself chooses whom a point attends to",
}


class NotFiniteError(ValueError):
    """Coordinates that are NaN or infinite."""


@dataclass(frozen=True)
class Sets:
    """How the points of a call fall into sets: plain (neither), padded (mask) or packed (ptr)."""

    mask: Tensor | None = None  # (batch, n), True where a point is real
    ptr: Tensor | None = None  # (sets + 1,), int64


def settle_form(
    tensors: Mapping[str, Tensor | None],
    mask: Tensor | None,
    ptr: Integers | None,
    batch: Integers | None,
    batch_size: int | None = None,
    prefix: str = "",
) -> tuple[list[Any], Tensor | None]:
    """The tensors of a call as plain, padded or packed ones, and the `ptr` of packed ones as a tensor.

    Args:
        tensors: the caller's tensors by argument. The first one decides the form; the others must have it, too.
        mask: for the check that nobody gives it together with another form.
        ptr: (sets + 1,), where each packed set begins and the last one ends.
        batch: (total,), the number of each point's set.
        batch_size: number of sets in `batch`, where the last ones may be empty.
        prefix: of the names of the arguments, such as "context_".
    """
    given = {f"{prefix}mask": mask, f"{prefix}ptr": ptr, f"{prefix}batch": batch}
    ways = [name for name, value in given.items() if value is not None]
    if len(ways) > 1:
        raise ValueError(f"{', '.join(ways)}: expected at most one of them, got {_count(len(ways))}")
    if batch_size is not None and batch is None:
        raise ValueError(f"{prefix}batch_size: expected it only with {prefix}batch, got {batch_size} without")
    values = list(tensors.values())
    name, first = next(iter(tensors.items()))
    if not isinstance(first, Tensor):
        raise ValueError(f"{name}: expected a tensor, got {describe(first)}")
    if any_nested(*values):
        if ways:
            raise ValueError(f"{ways[0]}: expected None with nested tensors, which know their sets, got one")
        return _unnest(tensors)
    if batch is not None:
        ptr = _ptr_of(first, batch, batch_size, name, f"{prefix}batch")
    elif ptr is not None and not isinstance(ptr, Tensor):
        ptr = check_ptr(ptr, len(first), f"{prefix}ptr", first.device)
    if first.dim() != (3 if ptr is None else 2):
        either = f"(batch, n, width), or (total, width) with {prefix}ptr or {prefix}batch"
        expected = either if ptr is None else "(total, width)"
        raise ValueError(f"{name}: expected floats of shape {expected}, got {describe(first)}")
    return values, ptr


def any_nested(*tensors: object) -> bool:
    """Whether one of the tensors is nested."""
    return any(isinstance(tensor, Tensor) and tensor.is_nested for tensor in tensors)


def _ptr_of(points: Tensor, batch: Integers, batch_size: int | None, name: str, batch_name: str) -> Tensor:
    """The ptr of points with a batch vector, which must have a number for each of them."""
    ptr = ptr_from_batch(batch, batch_size, points.device, batch_name)
    if len(batch) != len(points):
        expected = f"one set number for each of the {len(points)} points"
        raise ValueError(f"{batch_name}: expected {expected}, got {len(batch)}")
    check_device(ptr, points, batch_name, name)
    return ptr


def _unnest(tensors: Mapping[str, Tensor | None]) -> tuple[list[Any], Tensor]:
    """Nested tensors of the same sets as packed ones with their ptr."""
    packed: list[Tensor | None] = []
    name = next(iter(tensors))
    ptr: Tensor | None = None
    for own, tensor in tensors.items():
        if tensor is None:
            packed.append(None)
            continue
        if not tensor.is_nested:
            others = "the others are" if own == name else f"{name} is"
            raise ValueError(f"{own}: expected a nested tensor, as {others}, got {describe(tensor)}")
        if tensor.dim() != 3:
            raise ValueError(f"{own}: expected a nested tensor of shape (batch, ragged, dim), got {tensor.dim()} axes")
        rows, offsets = _rows(tensor, own)
        if ptr is None:
            ptr = offsets
        elif ptr.shape != offsets.shape or (readable(ptr) and not torch.equal(ptr, offsets)):
            raise ValueError(f"{own}: expected sets of the same sizes as those of {name}, got other sizes")
        packed.append(rows)
    assert ptr is not None
    return packed, ptr


def _rows(nested: Tensor, name: str) -> tuple[Tensor, Tensor]:
    """The rows of a nested tensor one after the other, (total, dim), and where its sets begin."""
    if nested.layout != torch.jagged:  # nn.TransformerEncoder makes such tensors in evaluation
        parts = nested.unbind()
        sizes = torch.tensor([0, *map(len, parts)], device=nested.device)
        return torch.cat(parts), sizes.cumsum(0)
    jagged: Any = nested  # whose methods torch gives no types
    if jagged.lengths() is not None:
        raise ValueError(f"{name}: expected a contiguous nested tensor, got one with gaps; call .contiguous() first")
    rows: Tensor = jagged.values()
    if rows.shape[1:] != nested.shape[2:]:
        raise ValueError(f"{name}: expected a nested tensor of shape (batch, ragged, dim), got {describe(nested)}")
    return rows, jagged.offsets()


def restore_form(rows: Tensor, like: Any) -> Tensor:
    """The result of a call in the form of its input: nested with the same offsets if `like` is nested."""
    if not like.is_nested:
        return rows
    if like.layout == torch.jagged:
        return torch.nested.nested_tensor_from_jagged(rows, like.offsets())
    return torch.nested.as_nested_tensor(list(rows.split([len(part) for part in like.unbind()])))


def check_points(
    points: Tensor,
    name: str,
    mask: Tensor | None,
    ptr: Integers | None,
    prefix: str = "",
    batch: Integers | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Check points and how they fall into sets; return them with the padding set to zero, and ptr as int64."""
    if ptr is not None and mask is not None:
        raise ValueError(f"{prefix}mask, {prefix}ptr: expected at most one of them, got both")
    if batch is not None and (mask is not None or ptr is not None):
        raise ValueError(f"{prefix}batch: expected it without {prefix}mask and {prefix}ptr, got both")
    if any_nested(points):
        way = f"{name}.values() with {prefix}ptr={name}.offsets()"
        raise ValueError(f"{name}: expected a plain, padded or packed tensor, got a nested one; give {way}")
    if not isinstance(points, Tensor) or points.ndim != (3 if ptr is None and batch is None else 2):
        expected = f"(batch, n, dimension), or (total, dimension) with {prefix}ptr or {prefix}batch"
        raise ValueError(f"{name}: expected a tensor of shape {expected}, got {describe(points)}")
    if not points.is_floating_point():
        raise ValueError(f"{name}: expected a floating-point type, got {points.dtype}")
    if points.shape[-1] == 0:
        raise ValueError(f"{name}: expected at least one coordinate, got the shape {tuple(points.shape)}")
    if batch is not None:
        ptr = _ptr_of(points, batch, None, name, f"{prefix}batch")
    elif ptr is not None:
        ptr = check_ptr(ptr, len(points), f"{prefix}ptr", points.device)
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
        hint = f"; write {name} == 1 if 1 means a real point" if _is_numeric_mask(mask, shape) else ""
        raise ValueError(f"{name}: expected bool of shape {tuple(shape)}, got {describe(mask)}{hint}")


def warn_of_padding_alone(mask: Tensor) -> None:
    """Warn of a mask without any real point in several sets, which was probably meant the other way round."""
    if readable(mask) and mask.shape[0] > 1 and mask.numel() and not mask.any():  # a single set may well be empty
        meaning = "True means real here, and padding in torch's key_padding_mask"
        warnings.warn(f"mask: expected a real point in some set, got none ({meaning})", stacklevel=2)


def _is_numeric_mask(mask: object, shape: torch.Size) -> bool:
    return isinstance(mask, Tensor) and mask.dtype != torch.bool and mask.shape == shape


def refuse_foreign(foreign: Iterable[str], caller: str) -> None:
    """Refuse keywords that a call does not have; of other libraries' masks, say what to write here instead."""
    for name in foreign:
        if name in FOREIGN_MASKS:
            raise TypeError(f"{name}: expected {FOREIGN_MASKS[name]}, got {name}")
        raise TypeError(f"{caller} got an unexpected keyword argument {name!r}")


def check_ptr(ptr: Integers, total: int | None, name: str = "ptr", device: torch.device | str | None = None) -> Tensor:
    """Check that `ptr` cuts `total` points into sets, and return it as int64.

    The values of a tensor are read only on the CPU: reading them elsewhere would make the device wait. Lists and numpy
    arrays go to `device` after the check.
    """
    ptr, moved = _as_tensor(ptr), None if isinstance(ptr, Tensor) else device
    if not isinstance(ptr, Tensor) or ptr.dtype not in (torch.int32, torch.int64) or ptr.ndim != 1 or len(ptr) == 0:
        raise ValueError(f"{name}: expected int64 of shape (sets + 1,), got {describe(ptr)}")
    if readable(ptr):
        if ptr[0] != 0 or bool((ptr.diff() < 0).any()):
            raise ValueError(f"{name}: expected values that start at 0 and never fall, got {_shorten(ptr)}")
        if total is not None and ptr[-1] != total:
            raise ValueError(f"{name}: expected the last value to be the number of points, {total}, got {int(ptr[-1])}")
    return ptr.long() if moved is None else ptr.to(moved, torch.int64)


def _as_tensor(values: Integers) -> Any:
    """Lists, tuples and numpy arrays of integers as an int64 tensor; anything else as it is."""
    if isinstance(values, Tensor) or not isinstance(values, (Sequence, np.ndarray)) or isinstance(values, str):
        return values
    if torch.compiler.is_compiling():  # numpy's types would break the graph
        return torch.as_tensor(values)
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths
        return values
    return torch.from_numpy(array.astype(np.int64)) if array.dtype.kind in "iu" else values


def readable(values: Tensor) -> bool:
    """Whether values can be read without making a device wait or breaking a graph."""
    return values.device.type == "cpu" and not torch.compiler.is_compiling()


def check_coordinates(positions: Tensor, coordinates: int, name: str = "positions") -> None:
    """Refuse positions with another number of coordinates than a layer was built for."""
    if positions.size(-1) != coordinates:
        got = positions.size(-1)
        raise ValueError(f"{name}: expected {coordinates} coordinates, got {got}; build it with coordinates={got}")


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
    if not readable(points):
        return
    # One bad number spoils the sum, which takes a quarter of the time; a sum may also overflow by itself.
    if not bool(points.sum().isfinite() or points.isfinite().all()):
        raise NotFiniteError(f"{name}: expected finite coordinates, got NaN or infinity")


def describe(value: object) -> str:
    """What a caller passed, for an error message."""
    if isinstance(value, Tensor) and value.is_nested:
        return f"a nested tensor of {value.dtype}, {value.size(0)} sets and layout {value.layout}"
    if isinstance(value, (Tensor, np.ndarray)):
        kind = "" if isinstance(value, Tensor) else "numpy "
        return f"{kind}{value.dtype} of shape {tuple(value.shape)}"
    return type(value).__name__


def _count(number: int) -> str:
    return "both" if number == 2 else "all"


def _shorten(values: Tensor, most: int = 8) -> str:
    shown = values[:most].tolist()
    return str(shown) if len(values) <= most else f"{str(shown)[:-1]}, ...]"


def segments(ptr: Tensor, total: int) -> Tensor:
    """The batch vector of packed sets, (total,): the number of each point's set."""
    return torch.searchsorted(ptr[1:].contiguous(), torch.arange(total, device=ptr.device), right=True)


def ptr_from_batch(
    batch: Integers, batch_size: int | None = None, device: torch.device | str | None = None, name: str = "batch"
) -> Tensor:
    """The ptr of a batch vector (total,), which must be sorted; give `batch_size` where the last sets may be empty.

    A GPU waits once, for the check and the number of sets. With `batch_size` it does not wait, and nothing is checked.
    """
    batch, moved = _as_tensor(batch), None if isinstance(batch, Tensor) else device
    if isinstance(batch, list) and not batch:
        batch = torch.zeros(0, dtype=torch.int64)
    if not isinstance(batch, Tensor) or batch.ndim != 1 or batch.dtype not in (torch.int32, torch.int64):
        raise ValueError(f"{name}: expected int64 of shape (total,), got {describe(batch)}")
    if batch_size is None or readable(batch):
        batch_size = _count_sets(batch, batch_size, name)
    if moved is not None:
        batch = batch.to(moved)
    # ptr[i] points belong to sets before i
    return torch.searchsorted(batch.long().contiguous(), torch.arange(batch_size + 1, device=batch.device))


def _count_sets(batch: Tensor, batch_size: int | None, name: str) -> int:
    """The number of sets of a batch vector, which is refused unless it is sorted."""
    if len(batch) == 0:
        return batch_size or 0
    least, largest, fall = torch.stack([batch[0], batch[-1], (batch.diff() < 0).any().to(batch.dtype)]).tolist()
    if least < 0:
        raise ValueError(f"{name}: expected set numbers from 0 on, got {least}")
    if fall:
        before = (batch.diff() < 0).nonzero()[0]
        got = f"{int(batch[before + 1])} after {int(batch[before])}; sort the points by set first"
        raise ValueError(f"{name}: expected set numbers in ascending order, got {got}")
    if batch_size is not None and batch_size <= largest:
        raise ValueError(f"{name}_size: expected at least {largest + 1}, the sets of {name}, got {batch_size}")
    return int(largest) + 1 if batch_size is None else batch_size


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
