"""SemanticKITTI (Behley et al., ICCV 2019): lidar scans from a car, every point one of 19 classes or none. Up is z.

sequences/00/velodyne/000000.bin (float32 x y z remission)
sequences/00/labels/000000.label (uint32, the class in the lower 16 bits, the object in the upper)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ...support.printable import printable
from ..errors import DataError
from ..files import check_size
from ..pack import Pack
from ..per_point import IGNORE
from ..scene_clouds import SceneCloud, pack_scenes

# fmt: off
#: The classes of the benchmark, and the numbers in the files that belong to each of them.
LEARNING_MAP = {
    "car": (10, 252), "bicycle": (11,), "motorcycle": (15,), "truck": (18, 258),
    "other-vehicle": (13, 16, 20, 256, 257, 259), "person": (30, 254), "bicyclist": (31, 253),
    "motorcyclist": (32, 255), "road": (40, 60), "parking": (44,), "sidewalk": (48,), "other-ground": (49,),
    "building": (50,), "fence": (51,), "vegetation": (70,), "trunk": (71,), "terrain": (72,), "pole": (80,),
    "traffic-sign": (81,),
}
# fmt: on
IGNORED = (0, 1, 52, 99)  # unlabelled, outlier, other structure, other object
CLASSES = tuple(LEARNING_MAP)
SEQUENCES = {"train": (0, 1, 2, 3, 4, 5, 6, 7, 9, 10), "test": (8,), "val": (8,)}
_UNKNOWN = -2


def load(
    root: str | Path,
    split: str,
    *,
    sequences: str | int | Sequence[str | int] | None = None,
    every: int = 1,
    points: int | None = None,
    grid: float | None = None,
    seed: int = 0,
) -> Pack:
    """Load the scans of one split: 'train' is 00 to 07, 09 and 10; 'val' and 'test' are both 08.

    The labels of the official test sequences, 11 to 21, are not public, so that 08 is what is compared on. `sequences`
    chooses others, such as "00,03". `every` takes each so-manieth scan of a sequence. `grid` keeps one random point per
    cube of this size in metres, and then `points` at most that many random points per scan. Scans keep their size in
    metres; the feature `remission` is float16.
    """
    if split not in SEQUENCES:
        raise DataError(f"split: expected 'train', 'val' or 'test', got {split!r}")
    if every < 1:
        raise DataError(f"every: expected at least 1, got {every}")
    chosen = SEQUENCES[split] if sequences is None else _parse(sequences)
    folder = _find(Path(root), chosen)
    scans = [scan for number in chosen for scan in _scans(folder / f"{number:02d}")[::every]]
    return pack_scenes(_read(scans), CLASSES, printable(folder), points=points, grid=grid, seed=seed, up="z")


def _parse(sequences: str | int | Sequence[str | int]) -> tuple[int, ...]:
    words = sequences.split(",") if isinstance(sequences, str) else sequences
    try:
        numbers = tuple(int(word) for word in ([words] if isinstance(words, int) else words))
    except ValueError:
        numbers = ()
    if not numbers or not all(0 <= number <= 21 for number in numbers) or len(set(numbers)) != len(numbers):
        raise DataError(f"sequences: expected different numbers from 00 to 21, got {sequences!r}")
    return numbers


def _find(root: Path, chosen: Sequence[int]) -> Path:
    for name in ("", "sequences", "dataset/sequences", "SemanticKITTI/dataset/sequences"):
        if all((root / name / f"{number:02d}" / "velodyne").is_dir() for number in chosen):
            return root / name
    wanted = ", ".join(f"{number:02d}" for number in chosen)
    raise DataError(
        f"{printable(root)}: no SemanticKITTI here; expected sequences/NN/velodyne and sequences/NN/labels for "
        f"{wanted}, from the archives of KITTI odometry and SemanticKITTI, under the terms of both"
    )


def _scans(sequence: Path) -> list[Path]:
    scans = sorted((sequence / "velodyne").glob("*.bin"))
    if not scans:
        raise DataError(f"{printable(sequence)}: expected scans velodyne/NUMBER.bin, got none")
    return scans


def _read(scans: list[Path]) -> Iterator[SceneCloud]:
    numbers = np.full(2**16, _UNKNOWN, np.int16)
    numbers[list(IGNORED)] = IGNORE
    for number, members in enumerate(LEARNING_MAP.values()):
        numbers[list(members)] = number
    for scan in scans:
        table = _read_binary(scan, "<f4", 4)
        path = scan.parents[1] / "labels" / f"{scan.stem}.label"
        raw = _read_binary(path, "<u4", 1)[:, 0] & 0xFFFF
        if len(raw) != len(table):
            raise DataError(f"{printable(path)}: expected {len(table)} labels, one per point, got {len(raw)}")
        labels = numbers[raw]
        if (labels == _UNKNOWN).any():
            raise DataError(f"{printable(path)}: expected classes of SemanticKITTI, got {raw[labels == _UNKNOWN][0]}")
        if not (np.abs(table) < np.finfo(np.float16).max).all():
            raise DataError(f"{printable(scan)}: expected finite numbers, got NaN, infinity or huge ones")
        remission = table[:, 3].astype(np.float16)
        yield SceneCloud(table[:, :3], f"{scan.parents[1].name}/{scan.stem}", labels, features={"remission": remission})


def _read_binary(path: Path, kind: str, columns: int) -> np.ndarray:
    row = columns * np.dtype(kind).itemsize
    try:
        check_size(path)
        data = path.read_bytes()
    except (DataError, OSError) as error:
        raise DataError(f"{printable(path)}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) % row:
        raise DataError(f"{printable(path)}: expected rows of {row} bytes, got {len(data)} bytes")
    table: np.ndarray = np.frombuffer(data, kind).reshape(-1, columns)
    return table
