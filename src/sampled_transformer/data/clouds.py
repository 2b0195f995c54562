"""Build a pack from a stream of clouds, without ever holding all of them in memory as floats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..support.printable import printable
from .errors import DataError
from .pack import Pack
from .quantise import quantise_normals, quantise_points

LONGEST_NAME = 255  # characters, as in file systems; numpy stores every name at the width of the longest one


class LabelledCloud(NamedTuple):
    """One labelled shape, as read from its file."""

    points: np.ndarray  # (n, 3)
    label: int
    name: str
    normals: np.ndarray | None = None  # (n, 3)


def pack_clouds(
    clouds: Iterable[LabelledCloud],
    total: int,
    classes: Sequence[str],
    where: str,
    *,
    points: int | None = None,
    seed: int = 0,
    normalise: bool = True,
) -> Pack:
    """Pack `total` clouds of equal size. `points` keeps that many random points per cloud; `seed` fixes the choice.

    Error messages name `where`, the file or folder that the clouds come from, and then the cloud.
    """
    stored: np.ndarray | None = None
    normals: np.ndarray | None = None
    labels = np.zeros(total, np.int64)
    names = []
    for number, cloud in enumerate(clouds):
        name = f"{where}: {cloud.name}"
        kept = _choose(len(cloud.points), points, seed, number, name)
        if stored is None:
            stored = np.empty((total, len(kept), 3), np.int16)
            normals = None if cloud.normals is None else np.empty((total, len(kept), 3), np.int8)
        if len(kept) != stored.shape[1]:
            before = stored.shape[1]
            raise DataError(
                f"{name}: expected {before} points, as in the shapes before it, got {len(kept)}; set points"
            )
        if (cloud.normals is None) != (normals is None):
            before, now = ("no normals", "normals") if normals is None else ("normals", "no normals")
            raise DataError(f"{name}: expected {before}, as in the shapes before it, got {now}")
        stored[number] = quantise_points(cloud.points[kept], normalise, name)
        if cloud.normals is not None and normals is not None:
            normals[number] = quantise_normals(cloud.normals[kept], name)
        labels[number] = cloud.label
        names.append(cloud.name[:LONGEST_NAME])
    if stored is None:
        raise DataError(f"{where}: no shapes")
    return Pack(stored, tuple(classes), labels, np.array(names, dtype=np.str_), normals)


def take_points(pack: Pack, points: int | None, seed: int = 0) -> Pack:
    """Keep `points` random points per set, chosen as in `pack_clouds` (None: keep all)."""
    if points is None:
        return pack
    names = [f"set {number}" for number in range(len(pack))] if pack.names is None else pack.names.tolist()
    chosen = [_choose(int(count), points, seed, number, names[number]) for number, count in enumerate(pack.counts())]
    return pack.keep_points(np.stack(chosen))


def _choose(available: int, points: int | None, seed: int, number: int, name: str) -> np.ndarray:
    """Choose the rows of shape `number` to keep. They depend only on `seed` and `number`, not on other shapes."""
    if points is None or points == available:
        return np.arange(available)
    if not 0 < points < available:
        raise DataError(f"points: expected 1 to {available}, the size of {name}, got {points}")
    return np.random.default_rng((seed, number)).choice(available, points, replace=False, shuffle=False)


def expect_files(folder: Path, files: Sequence[Path]) -> None:
    """Raise a DataError if a listed file is missing, so that nobody trains on part of a data set unnoticed."""
    missing = [file for file in files if not file.is_file()]
    if missing:
        first = printable(missing[0].relative_to(folder))
        counts = f"{len(missing)} of {len(files)}"
        raise DataError(f"{printable(folder)}: {counts} listed files are missing; the first is {first}")
