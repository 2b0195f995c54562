"""Radar: two-second windows of people seen by a radar, five activities, 1,316 for training and 552 for testing.

At most 256 returns of each window ship with the package. They are from RadHAR, BSD 3-Clause, (c) 2019 UCLA Networked &
Embedded Systems Laboratory; see the data card and the licence in radar_pack/.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...support.printable import printable
from ..clouds import take_points
from ..errors import DataError
from ..formats.npz import read_arrays
from ..pack import Pack

ARRAYS = ("features", "feature_names", "ptr", "labels", "classes", "names")


class RadarSets(NamedTuple):
    """One split. Set i is a (n_i, 6) array, one row per radar return, in the order of time."""

    sets: list[np.ndarray]  # float32
    labels: np.ndarray  # int64 (sets,), numbers of `classes`
    classes: tuple[str, ...]
    recordings: np.ndarray  # text (sets,), the recording that each window was cut from
    columns: tuple[str, ...]  # x, y, z (metres), velocity (metres per second), intensity (decibels), time (seconds)


def load_radar(split: str = "train", root: str | Path | None = None) -> RadarSets:
    """Load the sets in the package, or `split`.npz in the folder `root`, with all their columns."""
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    if root is not None:
        return _read(Path(root) / f"{split}.npz")
    with as_file(files("sampled_transformer.data") / "radar_pack" / f"{split}.npz") as path:
        return _read(path)


def load(root: str | Path | None = None, split: str = "train", *, points: int | None = None, seed: int = 0) -> Pack:
    """The sets as a pack of points: x, y, z alone, centred and scaled into the unit sphere; see `load_radar`."""
    radar = load_radar(split, root)
    pack = Pack.from_arrays(
        [one[:, :3] for one in radar.sets], labels=radar.labels, names=radar.recordings, classes=radar.classes
    )
    return take_points(pack, points, seed)


def _read(path: Path) -> RadarSets:
    arrays = read_arrays(path, names=ARRAYS)
    missing = [name for name in ARRAYS if name not in arrays]
    if missing:
        raise DataError(f"{printable(path)}: expected arrays {', '.join(ARRAYS)}, got none called {missing[0]}")
    features, ptr, labels = arrays["features"], arrays["ptr"], arrays["labels"]
    fits = features.ndim == 2 and ptr.shape == (len(labels) + 1,) and (ptr[0], ptr[-1]) == (0, len(features))
    if not fits or (np.diff(ptr) < 0).any():
        raise DataError(f"{printable(path)}: ptr: expected {len(labels) + 1} cuts of the {len(features)} returns")
    return RadarSets(
        sets=np.split(features.astype(np.float32), ptr[1:-1]),
        labels=labels.astype(np.int64),
        classes=tuple(map(str, arrays["classes"])),
        recordings=arrays["names"],
        columns=tuple(map(str, arrays["feature_names"])),
    )
