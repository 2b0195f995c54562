"""Readers for the published layouts of ModelNet, which modelnet.py lists.

Each takes the folder, the split, "modelnet40" or "modelnet10", the number of points (or None) and a seed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...support.printable import printable
from ..clouds import LabelledCloud, expect_files, pack_clouds
from ..errors import DataError
from ..files import check_size, named_errors, only_data_errors
from ..formats.hdf5 import Clouds, read_hdf5
from ..formats.restricted_pickle import check_shared, read_arrays_pickle, shown, whole_number
from ..guard import read_file
from ..name_lists import read_names, read_words
from ..pack import Pack

# fmt: off
CLASSES = {
    "modelnet40": (
        "airplane", "bathtub", "bed", "bench", "bookshelf", "bottle", "bowl", "car", "chair", "cone", "cup", "curtain",
        "desk", "door", "dresser", "flower_pot", "glass_box", "guitar", "keyboard", "lamp", "laptop", "mantel",
        "monitor", "night_stand", "person", "piano", "plant", "radio", "range_hood", "sink", "sofa", "stairs", "stool",
        "table", "tent", "toilet", "tv_stand", "vase", "wardrobe", "xbox",
    ),
    "modelnet10": (
        "bathtub", "bed", "chair", "desk", "dresser", "monitor", "night_stand", "sofa", "table", "toilet",
    ),
}
# fmt: on
LARGEST_DAT = 1 << 32  # bytes; Point-BERT's training file has 1.9 GB


def read_hdf5_folder(folder: Path, split: str, _variant: str, points: int | None, seed: int) -> Pack:
    """Read modelnet40_ply_hdf5_2048."""
    classes = _class_names(folder / "shape_names.txt", "modelnet40")
    files = _hdf5_files(folder, split)
    expect_files(folder, files)
    parts = [(file, read_hdf5(file, len(classes))) for file in files]
    total = sum(len(part.points) for _, part in parts)
    return pack_clouds(_hdf5_clouds(parts), total, classes, printable(folder), points=points, seed=seed)


def _hdf5_files(folder: Path, split: str) -> list[Path]:
    """The files in the published list; without a list, all files, which must be numbered from 0 without gaps."""
    listing = folder / f"{split}_files.txt"
    if listing.is_file():  # its lines begin with a folder on the authors' machine
        return [folder / Path(line).name for line in read_words(listing)]
    count = len(list(folder.glob(f"ply_data_{split}*.h5")))
    return [folder / f"ply_data_{split}{number}.h5" for number in range(count)]


def _hdf5_clouds(parts: list[tuple[Path, Clouds]]) -> Iterator[LabelledCloud]:
    with_normals = all(part.normals is not None for _, part in parts)
    for file, (points, labels, normals) in parts:
        names = _hdf5_names(file, len(points))
        for number, name in enumerate(names):
            own = normals[number] if with_normals and normals is not None else None
            yield LabelledCloud(points[number], int(labels[number]), name, own)


def _hdf5_names(file: Path, count: int) -> list[str]:
    """The names of the shapes: for ply_data_train0.h5 they are in ply_data_train_0_id2file.json."""
    path = file.with_name(f"{file.stem[:-1]}_{file.stem[-1]}_id2file.json")
    if not path.is_file():
        return [f"{file.stem}_{number:04d}" for number in range(count)]
    names = read_names(path)
    if len(names) != count:
        raise DataError(f"{printable(path)}: expected a list of {count} names, got {len(names)}")
    return [Path(name).stem for name in names]


def read_text_folder(folder: Path, split: str, variant: str, points: int | None, seed: int) -> Pack:
    """Read modelnet40_normal_resampled. For ModelNet10 use its own list, or all of ModelNet40 if there is none."""
    if not (folder / f"{variant}_{split}.txt").is_file():
        variant = "modelnet40"
    classes = _class_names(folder / f"{variant}_shape_names.txt", variant)
    listing = folder / f"{variant}_{split}.txt"
    names = read_words(listing)
    labels = [_label_of(name, classes, listing) for name in names]
    files = [folder / classes[label] / f"{name}.txt" for name, label in zip(names, labels, strict=True)]
    expect_files(folder, files)
    rows = zip(map(read_six_columns, files), labels, names, strict=True)
    clouds = (LabelledCloud(table[:, :3], label, name, table[:, 3:]) for table, label, name in rows)
    return pack_clouds(clouds, len(files), classes, printable(folder), points=points, seed=seed)


def _label_of(name: str, classes: Sequence[str], listing: Path) -> int:
    """The label of a shape from its name: night_stand_0001 is a night_stand."""
    owner = name.rpartition("_")[0]
    if owner not in classes or Path(name).name != name:
        raise DataError(f"{printable(listing)}: expected names of the {len(classes)} classes, got {name[:80]!r}")
    return classes.index(owner)


def read_six_columns(path: Path) -> np.ndarray:
    """Read lines x,y,z,nx,ny,nz as an array (n, 6)."""
    table: np.ndarray = read_file(_parse_table, path)
    return table


def _parse_table(path: Path) -> np.ndarray:
    with named_errors(printable(path)), only_data_errors(path):
        try:
            check_size(path)
            data = path.read_bytes()
            table = parse_six_decimals(data)
            if table is None:
                table = np.loadtxt(io.BytesIO(data), dtype=np.float32, delimiter=",", ndmin=2, comments=None)
        except (ValueError, OSError) as error:
            raise DataError(f"expected lines x,y,z,nx,ny,nz ({error})") from None
        if table.shape[0] == 0 or table.shape[1] != 6:
            raise DataError(f"expected lines x,y,z,nx,ny,nz, got a table of shape {table.shape}")
        return table


def parse_six_decimals(data: bytes) -> np.ndarray | None:
    """Parse a table in which every number looks like -0.123456, as in the published files; otherwise return None.

    The digits then have fixed positions before each separator. This is 4 times as fast as np.loadtxt, the fastest of
    the general readers.
    """
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero((text == ord(",")) | (text == ord("\n")))
    if len(ends) == 0 or len(ends) % 6 or not data.endswith(b"\n"):
        return None
    width = np.diff(ends, prepend=-1)
    signed = width == 10
    if ends[0] < 8 or not (signed | (width == 9)).all() or (text[ends[signed] - 9] != ord("-")).any():
        return None
    digits = text[ends[:, None] - [8, 6, 5, 4, 3, 2, 1]] - np.uint8(ord("0"))
    line = np.frombuffer(b",,,,,\n", np.uint8)
    if (text[ends - 7] != ord(".")).any() or digits.max() > 9 or (text[ends].reshape(-1, 6) != line).any():
        return None
    values = digits @ np.array([1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6], np.float32)
    table: np.ndarray = np.where(signed, -values, values).reshape(-1, 6)
    return table


def read_dat(folder: Path, split: str, _variant: str, points: int | None, seed: int) -> Pack:
    """Read Point-BERT's file, a pickle of [list of (n, 6) arrays, list of labels], without running it."""
    classes = _class_names(folder / "modelnet40_shape_names.txt", "modelnet40")
    return read_dat_file(folder / f"modelnet40_{split}_8192pts_fps.dat", classes, points, seed)


def read_dat_file(path: Path, classes: Sequence[str], points: int | None, seed: int) -> Pack:
    """Read one such file."""
    where = printable(path)
    content = read_arrays_pickle(path, LARGEST_DAT)
    if not isinstance(content, list | tuple) or [type(part) for part in content] != [list, list]:
        raise DataError(f"{where}: expected a list of points and a list of labels, got something else")
    tables, labels = content
    if len(tables) != len(labels):
        raise DataError(f"{where}: expected one label per shape, got {len(labels)} labels for {len(tables)} shapes")
    check_shared(sum(table.nbytes for table in tables if isinstance(table, np.ndarray)), path, where)
    clouds = (_dat_cloud(where, *item, classes) for item in zip(range(len(tables)), tables, labels, strict=True))
    return pack_clouds(clouds, len(tables), classes, where, points=points, seed=seed)


def _dat_cloud(where: str, number: int, table: Any, label: Any, classes: Sequence[str]) -> LabelledCloud:
    if not isinstance(table, np.ndarray) or table.ndim != 2 or table.shape[1] != 6:
        found = f"shape {table.shape}" if isinstance(table, np.ndarray) else type(table).__name__
        raise DataError(f"{where}: shape {number}: expected an array (n, 6), got {found}")
    owner = whole_number(label)
    if owner is None or not 0 <= owner < len(classes):
        expected = f"expected a label from 0 to {len(classes) - 1}"
        raise DataError(f"{where}: shape {number}: {expected}, got {shown(label)}")
    return LabelledCloud(table[:, :3], owner, f"{classes[owner]}_{number:05d}", table[:, 3:])


def _class_names(path: Path, variant: str) -> tuple[str, ...]:
    """The classes in the order of the published file, or in our own list if the file is missing."""
    if not path.is_file():
        return CLASSES[variant]
    names = tuple(read_words(path))
    if not names or len(set(names)) != len(names) or any(Path(name).name != name for name in names):
        raise DataError(f"{printable(path)}: expected one class name per line, each once")
    return names
