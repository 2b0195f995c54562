"""HDF5 files of labelled clouds, as ModelNet40 and ScanObjectNN are published: `data`, `label`, `normal`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...support.memory import limited_memory
from ...support.printable import brief, printable
from ..errors import DataError
from ..guard import read_file

LARGEST = 1 << 31  # bytes per array; the largest one in ScanObjectNN has 0.3 GB
ALWAYS_ALLOWED = 1 << 28  # bytes that any array may unpack to, however little it stores
EXPANSION = 20  # published clouds compress to a half or more
DEFLATE = 1032  # the highest compression ratio that deflate can reach


class Clouds(NamedTuple):
    """The clouds in one file."""

    points: np.ndarray  # float32 (sets, n, 3)
    labels: np.ndarray  # int64 (sets,)
    normals: np.ndarray | None  # float32 (sets, n, 3)


def read_hdf5(path: str | Path, classes: int) -> Clouds:
    """Read `data` (sets, n, 3), `label` (sets,) or (sets, 1) from 0 to classes - 1, and `normal` if present."""
    clouds: Clouds = read_file(_read_hdf5, Path(path), classes)
    return clouds


def _read_hdf5(path: Path, classes: int) -> Clouds:
    with _open(path) as file:
        points = _read(file, "data", "f")
        if points.ndim != 3 or points.shape[2] != 3 or points.size == 0:
            raise DataError(f"'data': expected shape (sets, n, 3), got {points.shape}")
        labels = _read(file, "label", "iu")
        if labels.shape not in ((len(points),), (len(points), 1)):
            raise DataError(f"'label': expected shape ({len(points)},), one per set, got {labels.shape}")
        if labels.min() < 0 or labels.max() >= classes:
            raise DataError(f"'label': expected 0 to {classes - 1}, got {labels.min()} to {labels.max()}")
        normals = _read(file, "normal", "f") if "normal" in file else None
        if normals is not None and normals.shape != points.shape:
            raise DataError(f"'normal': expected shape {points.shape}, as 'data', got {normals.shape}")
    return Clouds(points, labels.reshape(-1).astype(np.int64), normals)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Open the file and turn any exception into a DataError that names it."""
    import h5py

    name = printable(path)
    if not path.is_file():
        raise DataError(f"{name}: no such file")
    try:
        budget = max(LARGEST, EXPANSION * path.stat().st_size)
        with limited_memory(budget), h5py.File(path, "r") as file:
            yield file
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    except MemoryError:
        raise DataError(f"{name}: expected arrays that fit into {budget / 1e9:.0f} GB, got larger ones") from None
    except Exception as error:  # a damaged file can make h5py raise anything
        raise DataError(f"{name}: not an HDF5 file, or damaged ({brief(str(error), 200)})") from None


def _read(file: Any, key: str, kinds: str) -> np.ndarray:
    """The array `key`, if the file really contains it and its type is one of `kinds` ("f", or "iu" for integers)."""
    import h5py

    if key not in file:
        found = brief(", ".join(islice(map(str, file), 20))) or "no arrays"
        raise DataError(f"no array '{key}'; expected 'data' and 'label', got {found}")
    # HDF5 arrays may refer to other files on this machine; the published files never do, so we refuse it.
    if not isinstance(file.get(key, getlink=True), h5py.HardLink) or not isinstance(file[key], h5py.Dataset):
        raise DataError(f"'{key}': expected an array in this file, got a group or a link")
    dataset = file[key]
    if dataset.external or dataset.is_virtual:
        raise DataError(f"'{key}': expected values in this file, got a reference to other files")
    if dataset.dtype.kind not in kinds:
        wanted = "integers" if kinds == "iu" else "floats"
        raise DataError(f"'{key}': expected {wanted}, got {dataset.dtype}")
    stored = dataset.id.get_storage_size()
    size = max(dataset.nbytes, math.prod(dataset.chunks or ()) * dataset.dtype.itemsize)  # a chunk is read whole
    limit = min(LARGEST, stored * DEFLATE, max(ALWAYS_ALLOWED, stored * EXPANSION))
    if size > limit:
        claim = f"{dataset.shape} {dataset.dtype}, {size:,} bytes"
        raise DataError(f"'{key}': claims {claim}, but stores {stored:,} bytes; the limit is {limit:,}")
    values: np.ndarray = dataset[()]
    if kinds == "f":
        values = values.astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(1))
            found = f"NaN or infinity in {len(bad)} of {len(values)} sets (first: set {bad[0]})"
            raise DataError(f"'{key}': expected finite numbers, got {found}")
    return values
