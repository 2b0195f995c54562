"""S3DIS (Armeni et al., CVPR 2016): 272 rooms in six areas of three buildings, every point one of 13 classes. Up is z.

The folder Stanford3dDataset_v1.2_Aligned_Version, coordinates in metres, one file per object:

    Area_1/office_1/Annotations/chair_1.txt (x y z r g b)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...support.printable import printable
from ..errors import DataError
from ..pack import Pack
from ..scene_clouds import SceneCloud, pack_scenes
from ..text_tables import read_table

# fmt: off
CLASSES = (
    "ceiling", "floor", "wall", "beam", "column", "window", "door", "table", "chair", "sofa", "bookcase", "board",
    "clutter",
)
# fmt: on
AREAS = range(1, 7)
FOLDERS = ("", "Stanford3dDataset_v1.2_Aligned_Version", "Stanford3dDataset_v1.2")


def load(
    root: str | Path,
    split: str,
    *,
    area: int = 5,
    points: int | None = None,
    grid: float | None = None,
    seed: int = 0,
) -> Pack:
    """Load the rooms of one split: 'test' is the area `area`, 'train' are the five others.

    Rooms keep their size in metres, and the feature `colour` has red, green and blue as bytes. Whole rooms have about a
    million points. `grid` keeps one random point per cube of this size in metres, and then `points` at most
    that many random points per room.
    """
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    if area not in AREAS:
        raise DataError(f"area: expected 1 to 6, got {area}")
    areas = [number for number in AREAS if (number == area) == (split == "test")]
    folder = _find(Path(root), areas)
    rooms = [room for number in areas for room in _rooms(folder / f"Area_{number}")]
    return pack_scenes(_read(rooms), CLASSES, printable(folder), points=points, grid=grid, seed=seed, up="z")


def _find(root: Path, areas: list[int]) -> Path:
    for name in FOLDERS:
        if all((root / name / f"Area_{number}").is_dir() for number in areas):
            return root / name
    wanted = ", ".join(f"Area_{number}" for number in areas)
    raise DataError(
        f"{printable(root)}: no S3DIS here; expected the folders {wanted} of the archive "
        f"{FOLDERS[1]}.zip, which the project page of S3DIS offers under its terms of use"
    )


def _rooms(area: Path) -> list[Path]:
    """The folders of the rooms of one area, in the order of their names."""
    rooms = sorted(path for path in area.iterdir() if path.is_dir() and not path.name.startswith("."))
    if not rooms:
        raise DataError(f"{printable(area)}: expected folders of rooms, got none")
    return rooms


def _read(rooms: list[Path]) -> Iterator[SceneCloud]:
    for room in rooms:
        files = sorted((room / "Annotations").glob("*.txt"))
        if not files:
            raise DataError(f"{printable(room)}: expected files Annotations/CLASS_NUMBER.txt, got none")
        tables = [_read_object(file) for file in files]
        labels = np.repeat([_label(file) for file in files], [len(table) for table in tables])
        table = np.concatenate(tables)
        name = f"{room.parent.name}/{room.name}"
        yield SceneCloud(table[:, :3], name, labels, features={"colour": table[:, 3:].astype(np.uint8)})


def _read_object(file: Path) -> np.ndarray:
    table = read_table(file, "x y z r g b")
    bad = ((table[:, 3:] < 0) | (table[:, 3:] > 255)).any(1)
    if bad.any():
        found = f"{table[bad.argmax(), 3:].tolist()} in line {bad.argmax() + 1}"
        raise DataError(f"{printable(file)}: expected colours from 0 to 255, got {found}")
    return table


def _label(file: Path) -> int:
    """The class of an object from the name of its file. Few rooms have stairs, which count as clutter by convention."""
    name = file.stem.partition("_")[0]
    return CLASSES.index(name) if name in CLASSES else CLASSES.index("clutter")
