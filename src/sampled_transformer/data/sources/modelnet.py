"""ModelNet40 and ModelNet10 (Wu et al., CVPR 2015) in each published layout; `load` finds out which one it is.

ply_data_{train0..4,test0..1}.h5                        modelnet40_ply_hdf5_2048, 2,048 points; up is y
modelnet40_{train,test}.txt, class/class_0001.txt       modelnet40_normal_resampled, 10,000 points; up is y
modelnet40_{train,test}_8192pts_fps.dat                 Point-BERT's copy of the latter, 8,192 points; up is y
class/{train,test}/class_0001.off                       the meshes; up is z
{train,test}.npz                                        a pack; up depends on its source
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...support.printable import printable
from ..axes import turn_pack
from ..clouds import take_points
from ..errors import DataError
from ..pack import Pack, read_pack
from .modelnet_layouts import CLASSES, read_dat, read_hdf5_folder, read_text_folder

FOLDERS = {
    "modelnet40": ("modelnet40_ply_hdf5_2048", "modelnet40_normal_resampled", "ModelNet40", "modelnet40"),
    "modelnet10": ("ModelNet10", "modelnet40_ply_hdf5_2048", "modelnet40_normal_resampled", "ModelNet40", "modelnet40"),
}
Reader = Callable[[Path, str, str, int | None, int], Pack]


def load(
    root: str | Path,
    split: str,
    *,
    variant: str = "modelnet40",
    points: int | None = None,
    up: str | None = None,
    seed: int = 0,
) -> Pack:
    """Load one split, from whichever layout is in `root` or in a folder with one of the usual names below it.

    Args:
        root: The folder with the data.
        split: "train" or "test", as published.
        variant: "modelnet40" or "modelnet10". ModelNet10 can also be taken from ModelNet40; the splits agree.
        points: Random points per shape (default: all that are stored; 2,048 from meshes).
        up: "y" or "z": rotate the shapes so that this axis is vertical (default: axes as published).
        seed: Seed of the random points.
    """
    for name, value, known in (("variant", variant, tuple(CLASSES)), ("split", split, ("train", "test"))):
        if value not in known:
            raise DataError(f"{name}: expected {known[0]!r} or {known[1]!r}, got {value!r}")
    if up not in (None, "y", "z"):
        raise DataError(f"up: expected 'y' or 'z', got {up!r}")
    reader, published_up, folder = _find(Path(root), split, variant)
    if up is not None and published_up is None:
        raise DataError(f"up: expected none, because {printable(folder)} does not say which axis is up, got {up!r}")
    pack = reader(folder, split, variant, points, seed)
    if variant == "modelnet10" or reader is _read_meshes:
        pack = _restrict(pack, CLASSES[variant], folder)
    if published_up is None:
        return pack
    return turn_pack(pack, published_up, up or published_up)


def _find(root: Path, split: str, variant: str) -> tuple[Reader, str | None, Path]:
    """The reader of the first layout found, its vertical axis if known, and its folder."""
    for folder in (root, *(root / name for name in FOLDERS[variant])):
        if (folder / f"{split}.npz").is_file():
            return _read_pack, None, folder
        if any(folder.glob(f"ply_data_{split}*.h5")):
            return read_hdf5_folder, "y", folder
        class_folders = [folder / name for name in CLASSES[variant] if (folder / name).is_dir()]
        if any((own / split).is_dir() for own in class_folders):
            return _read_meshes, "z", folder
        if not class_folders and (folder / f"modelnet40_{split}_8192pts_fps.dat").is_file():
            return read_dat, "y", folder
        if any((folder / f"{name}_{split}.txt").is_file() for name in (variant, "modelnet40")):
            return read_text_folder, "y", folder
    raise DataError(
        f"{printable(root)}: no {variant} here or in {', '.join(FOLDERS[variant])} below it; expected one of "
        f"ply_data_{split}*.h5 (archive modelnet40_ply_hdf5_2048 of the PointNet project), modelnet40_{split}.txt "
        f"(modelnet40_normal_resampled of PointNet++), class/{split}/*.off (ModelNet40.zip or ModelNet10.zip from "
        f"Princeton's ModelNet page), {split}.npz (a pack)"
    )


def _read_pack(folder: Path, split: str, _variant: str, points: int | None, seed: int) -> Pack:
    return take_points(read_pack(folder, split), points, seed)


def _read_meshes(folder: Path, split: str, _variant: str, points: int | None, seed: int) -> Pack:
    """Sample the meshes one after the other; `data pack` uses all cores instead."""
    from .folder import load as load_folder

    return load_folder(folder, split, points=2048 if points is None else points, seed=seed)


def _restrict(pack: Pack, classes: tuple[str, ...], folder: Path) -> Pack:
    """Keep only the given classes and renumber the labels accordingly."""
    missing = [name for name in classes if name not in pack.classes]
    if pack.labels is None:
        raise DataError(f"{printable(folder)}: expected a pack with labels, got none")
    if missing:
        raise DataError(f"{printable(folder)}: expected {len(classes)} classes, got none of {', '.join(missing)}")
    renumber = np.full(len(pack.classes), -1)
    renumber[[pack.classes.index(name) for name in classes]] = np.arange(len(classes))
    part = pack.select(renumber[pack.labels] >= 0)
    return replace(part, labels=renumber[part.labels], classes=classes)
