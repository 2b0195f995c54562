"""Write a named data set, or another pack, as a pack."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..support.printable import printable
from . import SOURCES, SPLITS, load_data
from .axes import turn_pack
from .errors import DataError
from .files import Normals, check_options
from .normals import estimate_normals
from .pack import Pack
from .packing import Report, one_writer, publish, work_folder
from .quantise import POINT_SCALE, quantise_normals


def shapes_below(source: str, root: str | None = None) -> Path | None:
    """The folder of shapes that `source` names, or None if `source` names a pack or another kind of data."""
    if source == "folder":
        if root is None:
            raise DataError("root: expected the folder of shapes, got none")
        return Path(root)
    if source in ("modelnet40", "modelnet10") and root is not None:
        from .sources.modelnet_layouts import CLASSES

        for folder in (Path(root), Path(root, source.replace("modelnet", "ModelNet"))):
            if {path.parent.parent.name for path in folder.glob("*/train/*.off")} == set(CLASSES[source]):
                return folder
    path = Path(source)
    return path if source not in SOURCES and path.is_dir() and not _splits(path) else None


def _splits(folder: Path) -> list[str]:
    return [split for split in SPLITS if (folder / f"{split}.npz").is_file()]


def load_splits(source: str, root: str | None = None, **options: Any) -> dict[str, Pack]:
    """Load every split of a named data set or a pack. A pack in a single file is the split "all"."""
    path = Path(source)
    if source in SOURCES:
        return {split: load_data(source, split, root, **options) for split in ("train", "test")}
    if not path.is_dir():
        return {"all": load_data(path, path.stem if path.stem in SPLITS else "train", **options)}
    if not _splits(path):
        raise DataError(f"{printable(path)}: no train.npz or test.npz; run `data pack` to make a pack")
    return {split: load_data(path, split, **options) for split in _splits(path)}


def repack(
    source: str,
    target: str | Path,
    root: str | None = None,
    *,
    points: int | None = None,
    normals: Normals = "keep",
    seed: int = 0,
    up_in_pack: str | None = None,
    **options: Any,
) -> Report:
    """Write a named data set, or another pack, to the pack `target`. `points` keeps that many points per shape.

    `up_in_pack` is the axis that is up in a pack, and becomes z. Named data sets have an option `up` of their own.
    """
    options |= {"seed": seed} if points is None else {"points": points, "seed": seed}  # else its own default
    check_options(1 if points is None else points, normals)
    target = Path(target)
    loaded = load_splits(source, root, **options)
    packs = {split: turn_pack(_with_normals(pack, normals), up_in_pack) for split, pack in loaded.items()}
    if (target.suffix == ".npz") != ("all" in packs):
        expected = "a file name ending in .npz" if "all" in packs else "a folder"
        raise DataError(f"target: expected {expected}, got {printable(target)}")
    with one_writer(target):
        publish(packs, target, work_folder(target))
    first = next(iter(packs.values()))
    counts = {split: len(pack) for split, pack in packs.items()}
    return Report(counts, first.classes, first.target_name, first.point_classes if first.has_point_labels else ())


def _with_normals(pack: Pack, normals: Normals) -> Pack:
    if normals == "none":
        return replace(pack, normals=None)
    if normals == "keep" or pack.normals is not None:
        return pack
    flat = pack.points.reshape(-1, 3) / POINT_SCALE
    generator = np.random.default_rng(0)
    sets = np.split(flat, np.cumsum(pack.counts())[:-1])
    found = np.concatenate([quantise_normals(estimate_normals(points, points, generator)) for points in sets])
    return replace(pack, normals=found.reshape(pack.points.shape))
