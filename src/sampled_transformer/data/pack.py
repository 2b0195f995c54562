"""The pack: one split of a data set, in memory and on disk. `Pack.batch` turns some of its sets into tensors.

`points` are int16 / 32767 inside the unit sphere, `normals` are int8 / 127. Sets of equal size are stored as
(sets, n, 3). Sets of different sizes ("ragged") are concatenated to (total, 3); set i has the rows ptr[i] to
ptr[i + 1]. A pack is loaded once. A batch is then one gather of small integers and one conversion, without a loop.

Points may have labels of their own and named features, stored beside them in the same rows. With `centre` and
`scale`, a point p of set i was at p scale[i] + centre[i] before it was moved into the unit sphere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..support.printable import printable
from .errors import DataError
from .formats.npz import Header, read_arrays, write_arrays
from .pack_checks import FIELDS, check_headers, check_rows, check_values
from .per_point import PREFIX, settle_labels, stored_labels, unit, width
from .quantise import NORMAL_SCALE, POINT_SCALE, quantise_normals, quantise_with_size

if TYPE_CHECKING:
    import torch


class Batch(NamedTuple):
    """Sets as tensors: points and normals (batch, n, 3), or packed (total, 3) with `ptr` (batch + 1,)."""

    points: torch.Tensor
    normals: torch.Tensor | None = None
    labels: torch.Tensor | None = None
    ptr: torch.Tensor | None = None
    point_labels: torch.Tensor | None = None  # int64 (batch, n) or (total,); -1 for points to ignore
    features: dict[str, torch.Tensor] | None = None  # float32 (batch, n, columns) or (total, columns)

    def to(self, device: torch.device | str) -> Batch:
        features = None if self.features is None else {name: one.to(device) for name, one in self.features.items()}
        tensors = [None if value is None else value.to(device) for value in self[:-1]]
        return Batch(*tensors, features=features)  # type: ignore[arg-type, misc]


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
    point_labels: np.ndarray | None = None  # int16, one per point: numbers of point_classes, -1 for points to ignore
    point_classes: tuple[str, ...] = ()
    features: Mapping[str, np.ndarray] = field(default_factory=dict)  # numbers, (sets, n) or (sets, n, columns)
    centre: np.ndarray | None = None  # float64 (sets, 3), where the sets were before they were moved
    scale: np.ndarray | None = None  # float64 (sets,), how large they were

    def __post_init__(self) -> None:
        for name in self.extras:
            if name in FIELDS or name.startswith(PREFIX):
                raise DataError(f"extras: expected names other than the pack's own fields, got '{name}'")
        check_headers({name: Header(array.dtype, array.shape, False, 0) for name, array in self._arrays().items()})
        for name in ("labels", "ptr"):  # files may hold smaller types
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, array.astype(np.float64 if array.dtype.kind == "f" else np.int64))
        for name in ("centre", "scale"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, array.astype(np.float64))
        check_values(self)
        if self.point_labels is not None:
            object.__setattr__(self, "point_labels", settle_labels(self.point_labels, len(self.point_classes)))

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays on disk, in the order in which they are written."""
        arrays = self._arrays()
        if self.point_labels is not None:
            arrays["point_labels"] = stored_labels(self.point_labels, len(self.point_classes))
        return arrays

    def _arrays(self) -> dict[str, np.ndarray]:
        values = {name: getattr(self, name) for name in FIELDS}
        for name in ("classes", "point_classes"):
            values[name] = np.array(values[name], dtype=np.str_) if values[name] else None
        for name in ("target_name", "up"):
            values[name] = np.array([values[name]], dtype=np.str_) if values[name] else None
        values |= {f"{PREFIX}{name}": array for name, array in self.features.items()}
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
        point_labels: np.ndarray | Sequence[np.ndarray] | None = None,
        point_classes: Sequence[str] = (),
        features: Mapping[str, np.ndarray | Sequence[np.ndarray]] | None = None,
        keep_size: bool = False,
    ) -> Pack:
        """Quantise floats: an array (sets, n, 3) or a list of arrays (n_i, 3). The pack is ragged if the n_i differ.

        Labels are integers, the numbers of classes, or floats to predict, which `target_name` names.
        `normalise` centres each set on its mean and divides by its largest norm. Without it, the values must already
        lie in [-1, 1]. `keep_size` keeps the centre and the scale that this takes away, for `coordinates`.
        `point_labels` are integers (n_i,) per set, and every feature is (n_i,) or (n_i, columns) per set.
        """
        if len(points) == 0:
            raise DataError("points: expected at least 1 set, got none")
        per_point = {"normals": normals, "point_labels": point_labels}
        per_point |= {f"{PREFIX}{name}": values for name, values in (features or {}).items()}
        for name, values in per_point.items():
            if values is not None:
                check_rows(name, values, points)
        quantised = [quantise_with_size(one, normalise, f"points of set {i}") for i, one in enumerate(points)]
        packed, ptr = join_sets([one for one, _, _ in quantised])
        return cls(
            points=packed,
            ptr=ptr,
            normals=None
            if normals is None
            else join_sets([quantise_normals(n, f"normals of set {i}") for i, n in enumerate(normals)])[0],
            labels=None if labels is None else np.asarray(labels),
            names=None if names is None else np.array(names, dtype=np.str_),
            classes=tuple(str(name) for name in classes),
            extras={name: np.asarray(value) for name, value in (extras or {}).items()},
            target_name=target_name,
            up=up,
            point_labels=None if point_labels is None else join_sets([np.asarray(one) for one in point_labels])[0],
            point_classes=tuple(str(name) for name in point_classes),
            features={name: join_sets([np.asarray(one) for one in sets])[0] for name, sets in (features or {}).items()},
            centre=np.stack([centre for _, centre, _ in quantised]) if keep_size else None,
            scale=np.array([scale for _, _, scale in quantised]) if keep_size else None,
        )

    def __repr__(self) -> str:
        size = f"{self.points.shape[1]} points" if self.ptr is None else f"{len(self.points)} points in total"
        parts = [f"{len(self)} sets", size, *([f"{len(self.classes)} classes"] if self.classes else [])]
        parts += [self.target_name] if self.target_name else []
        parts += [f"{len(self.point_classes)} point classes"] if self.point_classes else []
        parts += ["normals"] if self.normals is not None else []
        parts += [f"{name} ({width(values, self.points)})" for name, values in self.features.items()]
        return f"Pack({', '.join([*parts, *self.extras])})"

    def __len__(self) -> int:
        return len(self.points) if self.ptr is None else len(self.ptr) - 1

    @property
    def has_numbers(self) -> bool:
        """Whether the labels are numbers to predict, not classes."""
        return self.labels is not None and self.labels.dtype.kind == "f"

    @property
    def has_point_labels(self) -> bool:
        """Whether every point has a label of its own, which may be -1."""
        return self.point_labels is not None

    def counts(self) -> np.ndarray:
        """The number of points in each set, int64 (sets,)."""
        if self.ptr is None:
            return np.full(len(self.points), self.points.shape[1], dtype=np.int64)
        return np.diff(self.ptr)

    def batch(self, index: Any) -> Batch:
        """The sets `index` (integers, a slice, a mask or one integer) as float32 tensors; classes and ptr are int64.

        Features have their columns last, even if there is only one.
        """
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
            point_labels=None if self.point_labels is None else torch.from_numpy(self.point_labels[rows]).long(),
            features={name: self._feature(name, rows) for name in self.features} or None,
        )

    def _feature(self, name: str, rows: np.ndarray) -> torch.Tensor:
        import torch

        values = self.features[name]
        found = torch.from_numpy(values[rows].astype(np.float32)).div_(unit(name, values))
        return found if values.ndim == self.points.ndim else found.unsqueeze(-1)

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
            point_labels=None if self.point_labels is None else self.point_labels[rows],
            point_classes=self.point_classes,
            features={name: values[rows] for name, values in self.features.items()},
            centre=None if self.centre is None else self.centre[sets],
            scale=None if self.scale is None else self.scale[sets],
        )

    def keep_points(self, rows: np.ndarray) -> Pack:
        """A new pack with the points `rows`, (sets, m), of each set, counted from the first point of the set."""
        counts = self.counts()
        rows = rows + (np.cumsum(counts) - counts)[:, None]

        def kept(values: np.ndarray) -> np.ndarray:
            return values if self.ptr is not None else values.reshape(-1, *values.shape[2:])

        return replace(
            self,
            points=kept(self.points)[rows],
            normals=None if self.normals is None else kept(self.normals)[rows],
            point_labels=None if self.point_labels is None else kept(self.point_labels)[rows],
            features={name: kept(values)[rows] for name, values in self.features.items()},
            ptr=None,
        )

    def coordinates(self, number: int) -> np.ndarray:
        """The points of one set where they were, float64 (n, 3): p scale + centre, or p if nobody kept the size."""
        points: np.ndarray = self.points[self._find(number)[1]].reshape(-1, 3) / POINT_SCALE
        if self.scale is not None:
            points *= self.scale[number]
        return points if self.centre is None else points + self.centre[number]

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


def join_sets(sets: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray | None]:
    """Join sets (n_i, ...) into one array (sets, n, ...), or into (total, ...) and ptr if the n_i differ."""
    counts = [len(values) for values in sets]
    if len(set(counts)) == 1:
        return np.stack(sets), None
    return np.concatenate(sets), np.concatenate(([0], np.cumsum(counts)))


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
    for name in ("classes", "point_classes"):
        known[name] = () if known[name] is None else tuple(map(str, known[name]))
    names = [name for name in arrays if name.startswith(PREFIX)]
    features = {name.removeprefix(PREFIX): arrays.pop(name) for name in names}
    for name in ("target_name", "up"):
        known[name] = "" if known[name] is None else str(known[name][0])
    try:
        return Pack(extras=arrays, features=features, **known)
    except DataError as error:
        raise DataError(f"{printable(path)}: {error}") from None


def write_pack(pack: Pack, path: str | Path) -> None:
    """Write a pack to one .npz file, atomically: after a crash there is the old file or none."""
    if Path(path).suffix != ".npz":
        raise DataError(f"path: expected a file name ending in .npz, got {printable(path)}")
    write_arrays(path, pack.arrays())
