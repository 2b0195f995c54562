"""Labelled point clouds out of HDF5 files as ModelNet40 and ScanObjectNN are published: `data`, `label`, `normal`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...support.printable import printable
from ..errors import DataError

LARGEST = 1 << 32  # bytes in one array; ScanObjectNN's largest has 0.3 GB
EXPANSION = 1032  # deflate cannot shrink anything further


class Clouds(NamedTuple):
    """All clouds of one file."""

    points: np.ndarray  # float32 (sets, n, 3)
    labels: np.ndarray  # int64 (sets,)
    normals: np.ndarray | None  # float32 (sets, n, 3)


def read_hdf5(path: str | Path, classes: int) -> Clouds:
    """Read `data` (sets, n, 3), `label` (sets,) or (sets, 1) in 0 to classes - 1 and, if it is there, `normal`."""
    with _open(path) as file:
        points = _read(file, "data", "f")
        if points.ndim != 3 or points.shape[2] != 3 or points.size == 0:
            raise DataError(f"'data': expected shape (sets, n, 3), got {points.shape}")
        labels = _read(file, "label", "iu")
        if labels.shape not in ((len(points),), (len(points), 1)):
            raise DataError(f"'label': expected one for each of the {len(points)} sets, got shape {labels.shape}")
        if labels.min() < 0 or labels.max() >= classes:
            raise DataError(f"'label': expected 0 to {classes - 1}, got {labels.min()} to {labels.max()}")
        normals = _read(file, "normal", "f") if "normal" in file else None
        if normals is not None and normals.shape != points.shape:
            raise DataError(f"'normal': expected shape {points.shape} as 'data' has, got {normals.shape}")
    return Clouds(points, labels.reshape(-1).astype(np.int64), normals)


@contextmanager
def _open(path: str | Path) -> Iterator[Any]:
    """The open file; whatever goes wrong with it becomes one line that names it."""
    import h5py

    name = printable(path)
    if not Path(path).is_file():
        raise DataError(f"{name}: no such file")
    try:
        with h5py.File(path, "r") as file:
            yield file
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    except Exception as error:  # a damaged file can make h5py raise anything
        raise DataError(f"{name}: not an HDF5 file, or a damaged one ({error})") from None


def _read(file: Any, key: str, kinds: str) -> np.ndarray:
    import h5py

    if key not in file:
        there = ", ".join(map(str, file)) or "nothing"
        raise DataError(f"no array '{key}', expected 'data' and 'label' (found: {there})")
    # An array may live in other files of the machine; what is published here never does.
    if not isinstance(file.get(key, getlink=True), h5py.HardLink) or not isinstance(file[key], h5py.Dataset):
        raise DataError(f"'{key}': expected an array in this file, found a group or a link")
    dataset = file[key]
    if dataset.external or dataset.is_virtual:
        raise DataError(f"'{key}': its values are in other files, which is refused")
    if dataset.dtype.kind not in kinds:
        wanted = "whole numbers" if kinds == "iu" else "floats"
        raise DataError(f"'{key}': expected {wanted}, got {dataset.dtype}")
    stored = dataset.id.get_storage_size()
    if dataset.nbytes > min(LARGEST, stored * EXPANSION):
        claim = f"{dataset.shape} {dataset.dtype}, {dataset.nbytes:,} bytes"
        raise DataError(f"'{key}': claims {claim}, but {stored:,} bytes are stored and {LARGEST:,} allowed")
    values = dataset[()]
    if kinds == "f":
        values = values.astype(np.float32, copy=False)
        if not np.isfinite(values).all():
            bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(1))
            raise DataError(f"'{key}': {len(bad)} of {len(values)} sets hold NaN or infinity, the first is {bad[0]}")
    return values
