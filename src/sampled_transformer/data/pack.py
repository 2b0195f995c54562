"""The pack: one split of a data set, in memory and on disk. `Pack.batch` turns some of its sets into tensors.

`points` are int16 / 32767 inside the unit sphere, `normals` are int8 / 127. Sets of equal size are stored as
(sets, n, 3). Sets of different sizes ("ragged") are concatenated to (total, 3); set i has the rows ptr[i] to
ptr[i + 1]. A pack is loaded once. A batch is then one gather of small integers and one conversion, without a loop.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..support.printable import printable
from .errors import DataError
from .formats.npz import Header, read_arrays, write_arrays
from .quantise import NORMAL_SCALE, POINT_SCALE, quantise_normals, quantise_points

if TYPE_CHECKING:
    import torch

FIELDS = ("points", "normals", "labels", "names", "classes", "target_name", "up", "ptr")


class Batch(NamedTuple):
    """Sets as tensors: points and normals (batch, n, 3), or packed (total, 3) with `ptr` (batch + 1,)."""

    points: torch.Tensor
    normals: torch.Tensor | None = None
    labels: torch.Tensor | None = None
    ptr: torch.Tensor | None = None

    def to(self, device: torch.device | str) -> Batch:
        return Batch(*(None if value is None else value.to(device) for value in self))  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, repr=False)
class Pack:
    """One split of a data set. The constructor checks types, shapes, lengths and the range of the labels."""

    points: np.ndarray  # int16 (sets, n, 3), or (total, 3) with ptr
    classes: tuple[str, ...] = ()
    labels: np.ndarray | None = None  # (sets,): int64 numbers of classes, or float64 numbers to predict
    names: np.ndarray | None = None  # unicode (sets,)
    normals: np.ndarray | None = None  # int8, the shape of points
    ptr: np.ndarray | None = None  # int64 (sets + 1,)
    extras: Mapping[str, np.ndarray] = field(default_factory=dict)  # further arrays, one row per set
    target_name: str = ""  # what float labels measure
    up: str = ""  # the axis that points up in all shapes, such as "z" or "-y"; empty if nobody knows

    def __post_init__(self) -> None:
        for name in FIELDS:
            if name in self.extras:
                raise DataError(f"extras: expected names other than the pack's own fields, got '{name}'")
        check_headers({name: Header(array.dtype, array.shape, False, 0) for name, array in self.arrays().items()})
        for name in ("labels", "ptr"):  # files may hold smaller types
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, array.astype(np.float64 if array.dtype.kind == "f" else np.int64))
        _check_values(self)

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays on disk, in the order in which they are written."""
        values = {name: getattr(self, name) for name in FIELDS}
        values["classes"] = np.array(self.classes, dtype=np.str_) if self.classes else None
        values["target_name"] = np.array([self.target_name], dtype=np.str_) if self.target_name else None
        values["up"] = np.array([self.up], dtype=np.str_) if self.up else None
        return {name: array for name, array in values.items() if array is not None} | dict(self.extras)

    @classmethod
    def from_arrays(
        cls,
        points: np.ndarray | Sequence[np.ndarray],
        *,
        labels: Any = None,
        names: Any = None,
        classes: Sequence[str] = (),
        normals: np.ndarray | Sequence[np.ndarray] | None = None,
        extras: Mapping[str, np.ndarray] | None = None,
        target_name: str = "",
        up: str = "",
        normalise: bool = True,
    ) -> Pack:
        """Quantise floats: an array (sets, n, 3) or a list of arrays (n_i, 3). The pack is ragged if the n_i differ.

        Labels are integers, the numbers of classes, or floats to predict, which `target_name` names.
        `normalise` centres each set on its mean and divides by its largest norm. Without it, the values must already
        lie in [-1, 1].
        """
        if len(points) == 0:
            raise DataError("points: expected at least 1 set, got none")
        if normals is not None and [len(n) for n in normals] != [len(p) for p in points]:
            raise DataError("normals: expected one per point in every set, got other lengths")
        packed, ptr = _join([quantise_points(p, normalise, f"points of set {i}") for i, p in enumerate(points)])
        return cls(
            points=packed,
            ptr=ptr,
            normals=None
            if normals is None
            else _join([quantise_normals(n, f"normals of set {i}") for i, n in enumerate(normals)])[0],
            labels=None if labels is None else np.asarray(labels),
            names=None if names is None else np.array(names, dtype=np.str_),
            classes=tuple(str(name) for name in classes),
            extras={name: np.asarray(value) for name, value in (extras or {}).items()},
            target_name=target_name,
            up=up,
        )

    def __repr__(self) -> str:
        size = f"{self.points.shape[1]} points" if self.ptr is None else f"{len(self.points)} points in total"
        parts = [f"{len(self)} sets", size, *([f"{len(self.classes)} classes"] if self.classes else [])]
        parts += [self.target_name] if self.target_name else []
        return f"Pack({', '.join([*parts, *(['normals'] if self.normals is not None else []), *self.extras])})"

    def __len__(self) -> int:
        return len(self.points) if self.ptr is None else len(self.ptr) - 1

    @property
    def has_numbers(self) -> bool:
        """Whether the labels are numbers to predict, not classes."""
        return self.labels is not None and self.labels.dtype.kind == "f"

    def counts(self) -> np.ndarray:
        """The number of points in each set, int64 (sets,)."""
        if self.ptr is None:
            return np.full(len(self.points), self.points.shape[1], dtype=np.int64)
        return np.diff(self.ptr)

    def batch(self, index: Any) -> Batch:
        """The sets `index` (integers, a slice, a mask or one integer) as float32 tensors; classes and ptr are int64."""
        import torch  # imported late, so that packing and the command line start without it

        sets, rows, ptr = self._find(index)
        normals = None
        if self.normals is not None:
            normals = torch.from_numpy(self.normals[rows]).to(torch.float32).div_(NORMAL_SCALE)
        labels = None
        if self.labels is not None:
            labels = torch.from_numpy(self.labels[sets].astype(np.float32) if self.has_numbers else self.labels[sets])
        return Batch(
            points=torch.from_numpy(self.points[rows]).to(torch.float32).div_(POINT_SCALE),
            normals=normals,
            labels=labels,
            ptr=None if ptr is None else torch.from_numpy(ptr),
        )

    def select(self, index: Any) -> Pack:
        """A new pack with the sets `index` and the same classes."""
        sets, rows, ptr = self._find(index)
        return Pack(
            points=self.points[rows],
            classes=self.classes,
            labels=None if self.labels is None else self.labels[sets],
            names=None if self.names is None else self.names[sets],
            normals=None if self.normals is None else self.normals[rows],
            ptr=ptr,
            extras={name: array[sets] for name, array in self.extras.items()},
            target_name=self.target_name,
            up=self.up,
        )

    def _find(self, index: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """The numbers of the sets that `index` selects, their rows in `points`, and their ptr."""
        if not isinstance(index, slice):
            index = np.asarray(index)
            index = index.astype(np.int64) if index.size == 0 else index
        sets = np.atleast_1d(np.arange(len(self))[index])
        if self.ptr is None:
            return sets, sets, None
        counts = self.counts()[sets]
        ptr = np.concatenate(([0], np.cumsum(counts)))
        return sets, np.arange(ptr[-1]) + np.repeat(self.ptr[sets] - ptr[:-1], counts), ptr


def _join(sets: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
    """Join sets (n_i, 3) into one array (sets, n, 3), or into (total, 3) and ptr if the n_i differ."""
    counts = [len(values) for values in sets]
    if len(set(counts)) == 1:
        return np.stack(sets), None
    return np.concatenate(sets), np.concatenate(([0], np.cumsum(counts)))


def _expect(name: str, header: Header, kinds: str, shape: tuple[int, ...], what: str) -> None:
    if header.dtype.kind not in kinds or header.shape != shape:
        raise DataError(f"{name}: expected {what} of shape {shape}, got {header.dtype} {header.shape}")


def check_headers(headers: Mapping[str, Header]) -> None:
    """Check the types and shapes of a pack's arrays, before any array is read."""
    if "points" not in headers:
        raise DataError(f"points: expected an array of this name, got {', '.join(headers) or 'no arrays'}")
    points, ptr = headers["points"], headers.get("ptr")
    layout = "(sets, n, 3) with n >= 1" if ptr is None else "(total, 3), because the pack has a ptr"
    fits = len(points.shape) == (3 if ptr is None else 2) and points.shape[-1] == 3 and points.shape[1] > 0
    if points.dtype != np.int16 or not fits:
        raise DataError(f"points: expected int16 of shape {layout}, got {points.dtype} {points.shape}")
    sets = points.shape[0]
    if ptr is not None:
        sets = math.prod(ptr.shape) - 1
        _expect("ptr", ptr, "iu", (max(sets, 0) + 1,), "integers")
    for name, header in headers.items():
        if name == "labels":
            _expect(name, header, "iuf", (sets,), "integers or floats")
        elif name in ("target_name", "up"):
            _expect(name, header, "U", (1,), "text")
        elif name == "names":
            _expect(name, header, "U", (sets,), "text")
        elif name == "classes":
            _expect(name, header, "U", (math.prod(header.shape),), "text")
        elif name == "normals" and (header.dtype != np.int8 or header.shape != points.shape):
            raise DataError(f"normals: expected int8 of shape {points.shape}, got {header.dtype} {header.shape}")
        elif name not in FIELDS and (header.dtype.kind not in "biufU" or header.shape[:1] != (sets,)):
            raise DataError(f"{name}: expected numbers or text with {sets} rows, got {header.dtype} {header.shape}")


def _check_values(pack: Pack) -> None:
    """Check what the headers do not show: ranges, order and finite values."""
    for name, values, limit in (("points", pack.points, POINT_SCALE), ("normals", pack.normals, NORMAL_SCALE)):
        if values is not None and values.size and values.min() < -limit:
            raise DataError(f"{name}: expected -{limit} to {limit}, got {values.min()}")
    ptr = pack.ptr
    if ptr is not None and (ptr[0] != 0 or ptr[-1] != len(pack.points) or (np.diff(ptr) <= 0).any()):
        raise DataError(f"ptr: expected numbers that increase from 0 to {len(pack.points)}, got {_shorten(ptr)}")
    labels = pack.labels
    if pack.has_numbers:
        _check_numbers(pack)
    elif pack.target_name:
        raise DataError(f"target_name: expected none without float labels, got {pack.target_name!r}")
    largest = len(pack.classes) - 1 if pack.classes else np.iinfo(np.int64).max
    if labels is not None and not pack.has_numbers and labels.size and (labels.min() < 0 or labels.max() > largest):
        raise DataError(f"labels: expected 0 to {largest}, got {labels.min()} to {labels.max()}")
    if pack.up not in ("", "x", "y", "z", "-x", "-y", "-z"):
        raise DataError(f"up: expected an axis such as z or -y, got {pack.up!r}")
    if len(set(pack.classes)) != len(pack.classes):
        double = next(name for name in pack.classes if pack.classes.count(name) > 1)
        raise DataError(f"classes: expected different names, got {double!r} twice")
    for name, values in pack.extras.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise DataError(f"{name}: expected finite numbers, got NaN or infinity")


def _check_numbers(pack: Pack) -> None:
    if not np.isfinite(pack.labels).all():  # type: ignore[arg-type]
        raise DataError("labels: expected finite numbers, got NaN or infinity")
    if pack.classes:
        raise DataError(f"classes: expected none, because the labels are floats, got {len(pack.classes)}")


def _shorten(values: np.ndarray) -> str:
    """The first numbers of an array, for an error message."""
    return str(values[:6].tolist())[:-1] + (", ...]" if len(values) > 6 else "]")


def read_pack(path: str | Path, split: str | None = None) -> Pack:
    """Read one .npz file, or the file `split`.npz in a folder."""
    path = Path(path)
    if path.is_dir():
        available = sorted(file.stem for file in path.glob("*.npz"))
        if split is None:
            raise DataError(f"split: expected one of the splits in {printable(path)}, got none")
        if split not in available:
            raise DataError(f"{printable(path)}: no {split}.npz; available splits: {', '.join(available) or 'none'}")
        path = path / f"{split}.npz"
    elif split is not None and split != path.stem:
        raise DataError(f"{printable(path)}: a file holds one split; for '{split}', pass a folder with {split}.npz")
    arrays = read_arrays(path, check_headers)
    known: dict[str, Any] = {name: arrays.pop(name, None) for name in FIELDS}
    known["classes"] = () if known["classes"] is None else tuple(map(str, known["classes"]))
    for name in ("target_name", "up"):
        known[name] = "" if known[name] is None else str(known[name][0])
    try:
        return Pack(extras=arrays, **known)
    except DataError as error:
        raise DataError(f"{printable(path)}: {error}") from None


def write_pack(pack: Pack, path: str | Path) -> None:
    """Write a pack to one .npz file, atomically: after a crash there is the old file or none."""
    if Path(path).suffix != ".npz":
        raise DataError(f"path: expected a file name ending in .npz, got {printable(path)}")
    write_arrays(path, pack.arrays())
