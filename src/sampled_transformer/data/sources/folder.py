"""Your own shapes: a folder with one sub-folder per class, in one of three layouts.

    class/file          class/train/file          train/class/file
                        class/test/file           test/class/file

We also search the folders below these. `val` is a split like `train` and `test`. Without a split in the folder, a
random fifth of each class becomes the test split. The draw depends only on the sorted file names and the seed, so
every machine draws the same split.

With a table of numbers to predict (targets.py) there are no classes: files may lie anywhere in the folder, and a split
may stand where the layouts above have it.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...support.printable import printable
from .. import SPLITS
from ..axes import check_up, standard_up
from ..errors import DataError
from ..files import READERS, Normals, read_shape
from ..pack import Pack
from ..targets import Targets


class Entry(NamedTuple):
    """One file in the folder."""

    path: Path
    relative: str  # path relative to the folder
    category: str  # empty if the labels are numbers
    name: str  # path below class and split, without suffix
    split: str


@dataclass
class Listing:
    """The shapes in a folder, sorted by class and name, and one line per problem."""

    root: Path
    entries: list[Entry] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    split_is_given: bool = False


def scan_folder(
    root: str | Path, *, test_fraction: float = 0.2, seed: int = 0, targets: Targets | None = None
) -> Listing:
    """Find the shapes below `root`, skipping hidden files and unknown formats; with targets, those that have one."""
    root = Path(root)
    if not root.is_dir():
        raise DataError(f"{printable(root)}: no such folder")
    if not 0 <= test_fraction < 1:
        raise ValueError(f"test_fraction: expected at least 0 and less than 1, got {test_fraction}")
    listing = Listing(root)
    folders = sorted(item.name for item in root.iterdir() if item.is_dir() and not _is_hidden(item.name))
    splits_on_top = bool(folders) and set(folders) <= set(SPLITS)
    found = []
    files = _walk(root, listing.problems)
    for path in files if targets is None else _with_number(files, targets, listing):
        place = _place(path.relative_to(root), splits_on_top, targets is None)
        if place is None:
            listing.problems.append(f"{printable(path)}: not in a class folder")
        else:
            found.append(place._replace(path=path))
    listing.split_is_given = any(entry.split for entry in found)
    for entry in _drop_duplicates(found, listing.problems):
        if listing.split_is_given and not entry.split:
            listing.problems.append(f"{printable(entry.path)}: not in a train, test or val folder")
        else:
            listing.entries.append(entry)
    if not listing.split_is_given:
        listing.entries = _draw_split(listing.entries, test_fraction, seed)
    listing.entries.sort(key=lambda entry: (entry.category, entry.name))
    readable = {entry.category for entry in listing.entries}
    by_class = targets is None and not splits_on_top
    empty = [name for name in folders if by_class and printable(name) not in readable]
    listing.problems += [f"{printable(root / name)}: class without a readable file" for name in empty]
    if not listing.entries:
        reason = listing.problems[0] if listing.problems else "expected files in folders named after their class"
        raise DataError(f"{printable(root)}: no shapes ({reason})")
    return listing


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def _walk(root: Path, problems: list[str]) -> Iterator[Path]:
    """Yield the files of known formats below `root`. We do not follow links to folders or out of `root`."""

    def note(error: OSError) -> None:
        problems.append(f"{printable(error.filename)}: {error.strerror}")

    inside = root.resolve()
    for folder, folders, files in os.walk(root, onerror=note):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in folders:
            if (path := Path(folder, name)).is_symlink():
                kind = "to a folder" if path.resolve().is_relative_to(inside) else "that leads out of the folder"
                problems.append(f"{printable(path)}: a link {kind}, not followed")
        for name in sorted(files):
            path = Path(folder, name)
            if path.suffix.lower() not in READERS or _is_hidden(name):
                continue
            if path.is_symlink() and not path.resolve().is_relative_to(inside):
                problems.append(f"{printable(path)}: a link that leads out of the folder, not followed")
            else:
                yield path


def _with_number(paths: Iterator[Path], targets: Targets, listing: Listing) -> list[Path]:
    """The files that have a number in the table; others, and rows without a file, become problems."""
    table, root = printable(targets.path), printable(listing.root)
    listing.problems += targets.problems
    found = {path.relative_to(listing.root).as_posix(): path for path in paths if not _is_same(path, targets.path)}
    if not found.keys() & targets.values.keys():
        got = printable(next(iter(targets.values)))
        expected = f"expected paths of shapes below {root}"
        expected += f", such as {printable(next(iter(found)))}" if found else ", where there are none"
        raise DataError(f"{table}: {expected}, got {got}")
    listing.problems += [
        f"{printable(path)}: no row in {table}" for name, path in found.items() if name not in targets.values
    ]
    missing = [name for name in targets.values if name not in found]
    listing.problems += [f"{table}: no shape {printable(name)} below {root}" for name in missing]
    return [path for name, path in found.items() if targets.values.get(name) is not None]


def _is_same(path: Path, table: Path) -> bool:
    """Whether a file is the table itself, which may lie beside the shapes."""
    return path.name == table.name and path.resolve() == table.resolve()


def _place(relative: Path, splits_on_top: bool, by_class: bool = True) -> Entry | None:
    """The class, split and name of a file from its path, or None if it is in no class folder."""
    *folders, file = relative.parts
    split = folders.pop(0) if splits_on_top and folders else ""
    if not by_class:
        if not split and len(folders) > 1 and folders[1] in SPLITS:
            split = folders.pop(1)
        return Entry(relative, str(relative), "", printable(Path(*folders, file).with_suffix("")), split)
    if not folders:
        return None
    category = folders.pop(0)
    if not split and folders and folders[0] in SPLITS:
        split = folders.pop(0)
    name = Path(*folders, file).with_suffix("")
    return Entry(relative, str(relative), printable(category), printable(name), split)


def _drop_duplicates(entries: list[Entry], problems: list[str]) -> Iterator[Entry]:
    """Yield one file per name: chair.off and chair.ply are the same shape and must not end up in different splits."""
    order = list(READERS)
    entries.sort(key=lambda entry: (entry.category, entry.name, order.index(entry.path.suffix.lower()), entry.relative))
    first: dict[tuple[str, str, str], Entry] = {}
    for entry in entries:
        used = first.setdefault((entry.category, entry.split, entry.name), entry)
        if used is entry:
            yield entry
        else:
            problems.append(f"{printable(entry.path)}: same name as {printable(used.path.name)}, which is used instead")


def _draw_split(entries: list[Entry], test_fraction: float, seed: int) -> list[Entry]:
    """Assign a random `test_fraction` of each class to the split "test" and the rest to "train"."""
    categories = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: entry.name):
        categories[entry.category].append(entry)
    drawn = []
    for category, members in categories.items():
        digest = hashlib.blake2b(category.encode(), digest_size=8).digest()
        generator = np.random.default_rng([seed, int.from_bytes(digest, "little")])
        count = max(1, round(test_fraction * len(members))) if test_fraction and len(members) > 1 else 0
        test = set(generator.permutation(len(members))[:count].tolist())
        drawn += [entry._replace(split="test" if i in test else "train") for i, entry in enumerate(members)]
    return drawn


def load(
    root: str | Path,
    split: str = "train",
    *,
    points: int = 2048,
    normals: Normals = "keep",
    seed: int = 0,
    test_fraction: float = 0.2,
    up: str | None = None,
) -> Pack:
    """Load one split of a folder of shapes, one file at a time. For large folders use `pack_folder`.

    A file that cannot be read is skipped with a warning. `read_shape` explains `points`, `normals` and `up`. A cloud
    with too few points repeats some of them; `extras["distinct"]` is how many there are before the first repetition.
    """
    check_up(up)
    listing = scan_folder(root, test_fraction=test_fraction, seed=seed)
    entries = [entry for entry in listing.entries if entry.split == split]
    if not entries:
        known = ", ".join(sorted({entry.split for entry in listing.entries}))
        raise DataError(f"{printable(root)}: no split '{split}'; available splits: {known}")
    shapes, kept = [], []
    for entry in entries:
        try:
            shapes.append(read_shape(entry.path, points=points, normals=normals, seed=seed, up=up))
            kept.append(entry)
        except DataError as error:
            listing.problems.append(str(error))
    for line in listing.problems:
        warnings.warn(line, stacklevel=2)
    if not kept:
        raise DataError(f"{printable(root)}: none of the {len(entries)} files can be read ({listing.problems[-1]})")
    classes = sorted({entry.category for entry in listing.entries})  # from all splits, so that labels agree
    with_normals = [shape.normals for shape in shapes if shape.normals is not None]
    return Pack.from_arrays(
        [shape.points for shape in shapes],
        labels=[classes.index(entry.category) for entry in kept],
        names=[entry.name for entry in kept],
        classes=classes,
        normals=with_normals if len(with_normals) == len(shapes) else None,
        extras={
            "from_mesh": np.array([shape.from_mesh for shape in shapes]),
            "distinct": np.array([shape.distinct for shape in shapes]),
        },
        up="z" if all(up or standard_up(entry.path) for entry in kept) else "",
        normalise=False,
    )
