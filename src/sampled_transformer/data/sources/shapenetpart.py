"""ShapeNetPart (Yi et al., SIGGRAPH Asia 2016): shapes of 16 categories, every point one of 50 parts. Up is y.

The folder shapenetcore_partanno_segmentation_benchmark_v0_normal, about 2,600 points with normals per shape:

    synsetoffset2category.txt        02691156/1021a0914a7207aff927ed529ad90a11.txt (x y z nx ny nz part)
    train_test_split/shuffled_{train,val,test}_file_list.json
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...support.printable import printable
from ..clouds import expect_files
from ..errors import DataError
from ..name_lists import read_names, read_words
from ..pack import Pack
from ..scene_clouds import SceneCloud, pack_scenes
from ..text_tables import read_table

FOLDER = "shapenetcore_partanno_segmentation_benchmark_v0_normal"
#: The number of parts of each category. The parts are numbered through in this order: Airplane has 0 to 3.
PARTS = {
    "Airplane": 4,
    "Bag": 2,
    "Cap": 2,
    "Car": 4,
    "Chair": 4,
    "Earphone": 3,
    "Guitar": 3,
    "Knife": 2,
    "Lamp": 4,
    "Laptop": 2,
    "Motorbike": 6,
    "Mug": 2,
    "Pistol": 3,
    "Rocket": 3,
    "Skateboard": 3,
    "Table": 3,
}
CLASSES = tuple(PARTS)
POINT_CLASSES = tuple(f"{name} {number}" for name, count in PARTS.items() for number in range(count))


def parts_of(category: str) -> range:
    """The numbers of the parts of a category. Its IoU is the mean over these."""
    first = sum(count for name, count in PARTS.items() if CLASSES.index(name) < CLASSES.index(category))
    return range(first, first + PARTS[category])


def load(
    root: str | Path,
    split: str,
    *,
    trainval: bool = True,
    points: int | None = None,
    seed: int = 0,
) -> Pack:
    """Load one split, 'train', 'val' or 'test'. `labels` are categories, `point_labels` are parts.

    As is usual on this data set, 'train' is the published lists train and val together; `trainval=False` leaves val
    out. Shapes have different sizes; `points` keeps at most that many random points per shape.
    """
    if split not in ("train", "val", "test"):
        raise DataError(f"split: expected 'train', 'val' or 'test', got {split!r}")
    folder = _find(Path(root))
    synsets = _synsets(folder / "synsetoffset2category.txt")
    files: list[Path] = []
    labels: list[int] = []
    for name in ("train", "val") if split == "train" and trainval else (split,):
        listing = folder / "train_test_split" / f"shuffled_{name}_file_list.json"
        for entry in read_names(listing):
            synset, shape = _parse(entry, synsets, listing)
            files.append(folder / synset / f"{shape}.txt")
            labels.append(CLASSES.index(synsets[synset]))
    expect_files(folder, files)
    return pack_scenes(
        _read(files, labels), POINT_CLASSES, printable(folder), classes=CLASSES, points=points, seed=seed, up="y"
    )


def _find(root: Path) -> Path:
    for folder in (root, root / FOLDER):
        if (folder / "synsetoffset2category.txt").is_file() and (folder / "train_test_split").is_dir():
            return folder
    raise DataError(
        f"{printable(root)}: no ShapeNetPart here; expected synsetoffset2category.txt and the folder train_test_split "
        f"of the archive {FOLDER}.zip, which the PointNet++ project links under the terms of ShapeNet"
    )


def _synsets(path: Path) -> dict[str, str]:
    """The category of each synset, from lines such as `Airplane 02691156`."""
    words = read_words(path)
    synsets = dict(zip(words[1::2], words[::2], strict=False))
    if len(words) != 2 * len(CLASSES) or sorted(synsets.values()) != sorted(CLASSES):
        raise DataError(f"{printable(path)}: expected {len(CLASSES)} lines, a category of ShapeNetPart and its synset")
    return synsets


def _parse(entry: str, synsets: dict[str, str], listing: Path) -> tuple[str, str]:
    """The synset and the name of a shape, from an entry such as shape_data/02691156/1021a0914a."""
    _, _, rest = entry.partition("/")
    synset, _, shape = rest.partition("/")
    if synset not in synsets or not shape or Path(shape).name != shape:
        raise DataError(f"{printable(listing)}: expected entries shape_data/SYNSET/NAME, got {entry[:80]!r}")
    return synset, shape


def _read(files: list[Path], labels: list[int]) -> Iterator[SceneCloud]:
    for file, label in zip(files, labels, strict=True):
        table = read_table(file, "x y z nx ny nz part")
        parts, own = np.rint(table[:, 6]).astype(np.int64), parts_of(CLASSES[label])
        bad = (parts < own[0]) | (parts > own[-1])
        if bad.any():
            expected = f"expected parts {own[0]} to {own[-1]} of {CLASSES[label]}"
            raise DataError(f"{printable(file)}: {expected}, got {parts[bad.argmax()]} in line {bad.argmax() + 1}")
        yield SceneCloud(table[:, :3], file.stem, parts, table[:, 3:6], label=label)
