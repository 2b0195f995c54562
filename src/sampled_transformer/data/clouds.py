"""Clouds that arrive one after the other become a pack, without ever holding all of them as floats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..support.printable import printable
from .errors import DataError
from .pack import Pack
from .quantise import quantise_normals, quantise_points

LONGEST_NAME = 255  # letters, as in file systems; an array of texts gives every name the room of the longest


class LabelledCloud(NamedTuple):
    """One labelled shape as its file has it."""

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
    """Pack `total` clouds of one size. `points` takes that many of each: a random choice, fixed by the seed.

    Errors name the cloud after `where`, the file or folder it came from.
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
            raise DataError(f"{name}: {len(kept)} points, but shapes before it have {stored.shape[1]}: give points=")
        if (cloud.normals is None) != (normals is None):
            raise DataError(f"{name}: expected normals with every shape or with none")
        stored[number] = quantise_points(cloud.points[kept], normalise, name)
        if cloud.normals is not None and normals is not None:
            normals[number] = quantise_normals(cloud.normals[kept], name)
        labels[number] = cloud.label
        names.append(cloud.name[:LONGEST_NAME])
    if stored is None:
        raise DataError(f"{where}: no shapes")
    return Pack(stored, tuple(classes), labels, np.array(names, dtype=np.str_), normals)


def take_points(pack: Pack, points: int | None, seed: int = 0) -> Pack:
    """The pack with `points` of each set, chosen as `pack_clouds` does; with None all of them."""
    if points is None:
        return pack
    counts = pack.counts()
    starts = np.cumsum(counts) - counts
    names = [f"set {number}" for number in range(len(pack))] if pack.names is None else pack.names.tolist()
    chosen = [_choose(int(count), points, seed, number, names[number]) for number, count in enumerate(counts)]
    rows = np.stack(chosen) + starts[:, None]
    return replace(
        pack,
        points=pack.points.reshape(-1, 3)[rows],
        normals=None if pack.normals is None else pack.normals.reshape(-1, 3)[rows],
        ptr=None,
    )


def _choose(there: int, points: int | None, seed: int, number: int, name: str) -> np.ndarray:
    """Rows to keep of shape `number`; they depend on the seed and that number, on no other shape."""
    if points is None or points == there:
        return np.arange(there)
    if not 0 < points < there:
        raise DataError(f"points: expected 1 to {there}, the points of {name}, got {points}")
    return np.random.default_rng((seed, number)).choice(there, points, replace=False, shuffle=False)


def expect_files(folder: Path, files: Sequence[Path]) -> None:
    """All files that a list names must be there before any is read: training on a part of them would go unnoticed."""
    missing = [file for file in files if not file.is_file()]
    if missing:
        first = printable(missing[0].relative_to(folder))
        raise DataError(f"{printable(folder)}: {len(missing)} of {len(files)} listed files are missing, first {first}")


def read_words(path: Path) -> list[str]:
    """The names in a list file, one a line."""
    try:
        return path.read_text("utf-8", "replace").split()
    except OSError as error:
        raise DataError(f"{printable(path)}: {error.strerror or error}") from None
