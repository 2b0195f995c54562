"""Your own labelled scans: a folder of files whose points have classes, such as LAS with `classification`.

    train/file and test/file      or only files, a fifth of which become the test split

Every number among the labels of all files is a class, -1 is none. Files may name their classes; the numbers of LAS have
the names of its standard, and others are called "class 7".
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...support.printable import printable
from .. import SPLITS
from ..class_numbers import MOST, class_name
from ..errors import DataError
from ..fields import LABEL_NAMES
from ..pack import Pack
from ..per_point import IGNORE
from ..scans import STREAMED, TEXT, Scan, iter_scan_chunks, read_scan
from ..scene_clouds import SceneCloud, pack_scenes

SUFFIXES = (*STREAMED, ".ply", ".pcd", *TEXT, ".npz", ".npy", ".bin")
MOST_CLASSES = 256
NORMALS = "normals"

#: How a scan was made, rather than what it shows: not read unless `features` names it.
BOOKKEEPING = frozenset(
    {
        "gps_time",
        "point_source_id",
        "user_data",
        "synthetic",
        "key_point",
        "withheld",
        "overlap",
        "scanner_channel",
        "scan_direction_flag",
        "edge_of_flight_line",
        "class",  # these two are what `segment predict` writes
        "confidence",
    }
)


class Reading(NamedTuple):
    """How to read all files of a folder."""

    columns: tuple[str, ...] | None
    label: str | None


class Survey(NamedTuple):
    """What a file has: the numbers among its labels, the names that it gives them, and its features."""

    numbers: frozenset[int]
    names: tuple[tuple[int, str], ...]
    features: dict[str, int]  # and how many numbers of each a point has
    missing: dict[str, int]  # for how many points a feature is NaN or infinite, if for any
    has_normals: bool


def load(
    root: str | Path,
    split: str,
    *,
    points: int | None = None,
    grid: float | None = None,
    seed: int = 0,
    test_fraction: float = 0.2,
    features: str | None = None,
    columns: str | None = None,
    label: str | None = None,
) -> Pack:
    """Load the scans of one split; they keep their size.

    `grid` keeps one random point per cube of this size, and then `points` at most that many random points per scan.
    `features` names the fields to keep, separated by commas (default: those that all files have at every point, without
    bookkeeping such as `gps_time`; a warning names those that are NaN somewhere). `columns` and `label` are those of
    `read_scan`. Without folders for the splits, `seed` chooses the share `test_fraction` of the files to test on.
    """
    if not 0 < test_fraction < 1:
        raise DataError(f"test_fraction: expected more than 0 and less than 1, got {test_fraction}")
    folder = Path(root)
    files = list_scans(folder, test_fraction, seed)
    if split not in files:
        raise DataError(f"{printable(folder)}: no split {split!r}; available splits: {', '.join(files)}")
    paths = [path for own in files.values() for path in own]  # of all splits, so that they have the same classes
    reading = Reading(_words(columns), label)
    surveys = {path: _survey(path, path.stat().st_mtime_ns, reading) for path in paths}
    classes = _classes(surveys)
    if not classes:
        total = f"{len(paths)} scans with no label but {IGNORE}"
        raise DataError(f"{printable(folder)}: label: expected at least 1 point with a class, got {total}")
    chosen = _features(surveys, _words(features))
    with_normals = all(one.has_normals and NORMALS not in one.missing for one in surveys.values())

    def made() -> Iterator[SceneCloud]:
        for path in files[split]:
            scan = read_scan(path, _listed(reading.columns), label=reading.label)
            yield SceneCloud(
                scan.points,
                path.relative_to(folder).as_posix(),
                _settled(scan, list(classes)),
                scan.normals if with_normals else None,
                {name: scan.features[name] for name in chosen},
            )

    up = "z" if all(path.suffix.lower() in STREAMED for path in paths) else ""
    return pack_scenes(made(), tuple(classes.values()), printable(folder), points=points, grid=grid, seed=seed, up=up)


def list_scans(folder: Path, test_fraction: float = 0.2, seed: int = 0) -> dict[str, list[Path]]:
    """The files of every split, sorted by name."""
    if not folder.is_dir():
        raise DataError(f"{printable(folder)}: no such folder")
    found = {split: _files(folder / split) for split in SPLITS if (folder / split).is_dir()}
    if any(found.values()):
        return {split: files for split, files in found.items() if files}
    files = _files(folder)
    if not files:
        known = " ".join(SUFFIXES)
        raise DataError(
            f"{printable(folder)}: expected scans ({known}) in it or in the folders train and test in it, got none"
        )
    if len(files) < 2:
        raise DataError(f"{printable(folder)}: expected at least 2 scans, or the folders train and test, got 1 scan")
    count = min(max(1, round(test_fraction * len(files))), len(files) - 1)
    test = set(np.random.default_rng(seed).permutation(len(files))[:count].tolist())
    return {
        "train": [path for number, path in enumerate(files) if number not in test],
        "test": [path for number, path in enumerate(files) if number in test],
    }


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.startswith(".")
    )


def _words(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(word.strip() for word in text.split(",") if word.strip())


def _listed(columns: tuple[str, ...] | None) -> list[str] | None:
    return None if columns is None else list(columns)


@lru_cache(maxsize=4096)
def _survey(path: Path, changed: int, reading: Reading) -> Survey:
    """Look at every point of a file, piece by piece if it can be read so; `changed` is when the file was written."""
    numbers: set[int] = set()
    names: dict[int, str] = {}
    features: dict[str, int] = {}
    missing: Counter[str] = Counter()
    has_normals = False
    for scan in iter_scan_chunks(path, columns=_listed(reading.columns), label=reading.label):
        if scan.labels is None:
            broken = [name for name in LABEL_NAMES if name in scan.features]
            if broken:
                raise DataError(
                    f"{printable(path)}: {broken[0]}: expected one whole number per point, got other values"
                )
            has = ", ".join(scan.features) or "positions alone"
            raise DataError(f"{printable(path)}: expected labels, such as a field {LABEL_NAMES[0]!r}, got {has}")
        numbers |= set(np.unique(scan.labels).tolist())
        names |= scan.classes
        features = {name: math.prod(values.shape[1:]) for name, values in scan.features.items()}
        missing.update(scan.missing())
        has_normals = scan.normals is not None
        bad = [number for number in numbers if not IGNORE <= number < MOST]
        if bad or len(numbers) > MOST_CLASSES:
            got = str(bad[0]) if bad else f"{len(numbers)} different ones"
            expected = f"at most {MOST_CLASSES} classes from 0 to {MOST - 1}, or -1 for none"
            raise DataError(f"{printable(path)}: {scan.label_name}: expected {expected}, got {got}")
    return Survey(frozenset(numbers), tuple(sorted(names.items())), features, dict(missing), has_normals)


def _classes(surveys: dict[Path, Survey]) -> dict[int, str]:
    """The names of all classes by number, in the order of the numbers."""
    named: dict[int, str] = {}
    for path, survey in surveys.items():
        for number, name in survey.names:
            if number in survey.numbers and named.setdefault(number, name) != name:
                expected = f"class {number} to be {printable(repr(named[number]))}, as in the scans before it"
                raise DataError(f"{printable(path)}: expected {expected}, got {printable(repr(name))}")
    numbers = sorted(set().union(*(survey.numbers for survey in surveys.values())) - {IGNORE})
    classes = {number: named.get(number) or class_name(number) for number in numbers}
    taken = list(classes.values())
    return {number: name if taken.count(name) == 1 else f"{name} {number}" for number, name in classes.items()}


def _features(surveys: dict[Path, Survey], wanted: tuple[str, ...] | None) -> list[str]:
    """The features to keep: those that are wanted, or those that every point of every file has."""
    chosen = list(wanted or ())
    if wanted is None:
        known = set.intersection(*(set(survey.features) for survey in surveys.values())) - BOOKKEEPING
        gaps = _gaps(surveys)
        for name in sorted((known | {NORMALS}) & gaps.keys()):
            left_out = "are left out" if name == NORMALS else "is left out"
            warnings.warn(f"{gaps[name]}; {name} {left_out}", stacklevel=3)
        chosen = sorted(known - gaps.keys())
    widths: dict[str, int] = {}
    for path, survey in surveys.items():
        for name in chosen:
            if name not in survey.features:
                has = ", ".join(sorted(survey.features)) or "none"
                raise DataError(f"{printable(path)}: features: expected {name}, got {has}")
            if name in survey.missing:
                raise DataError(_gaps({path: survey})[name])
            if widths.setdefault(name, survey.features[name]) != survey.features[name]:
                expected = f"{widths[name]} numbers per point, as in the scans before it"
                raise DataError(f"{printable(path)}: {name}: expected {expected}, got {survey.features[name]}")
    return chosen


def _gaps(surveys: dict[Path, Survey]) -> dict[str, str]:
    """What to say about each feature that is NaN somewhere; it names the first file."""
    found: dict[str, str] = {}
    for path, survey in surveys.items():
        for name, count in survey.missing.items():
            reason = f"expected finite numbers, got NaN or infinity at {count} point{'s' * (count != 1)}"
            found.setdefault(name, f"{printable(path)}: {name}: {reason}")
    return found


def _settled(scan: Scan, numbers: list[int]) -> np.ndarray:
    """The place of every label among the numbers of the classes."""
    assert scan.labels is not None
    places: np.ndarray = np.searchsorted(numbers, scan.labels).astype(np.int16)
    places[scan.labels == IGNORE] = IGNORE
    return places
