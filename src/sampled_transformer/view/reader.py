"""Read what visitors upload, in a process of its own: a file that kills its reader costs only its own answer."""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from ..data import guard
from ..data.errors import DataError
from ..data.files import READERS, named_errors, only_data_errors, read_raw
from ..data.formats.meshes import Mesh
from ..data.formats.point_files import Cloud
from ..data.scans import FORMATS, read_scan
from ..support.printable import printable

MOST_POINTS = 1_000_000  # that the page keeps of a cloud
MOST_FACES = 5_000_000
AT_ONCE = 2  # files

_turn = threading.BoundedSemaphore(AT_ONCE)


class Reading(NamedTuple):
    """What a file holds, and what is worth knowing about it. The last three are read for networks that label points."""

    raw: Mesh | Cloud
    notes: tuple[str, ...] = ()
    labels: np.ndarray | None = None  # the numbers in the file, (n,)
    names: dict[int, str] | None = None  # of the labels, as far as the file states them
    features: dict[str, np.ndarray] | None = None  # (n,) or (n, width), without normals


def read_upload(name: str, content: bytes, most: int = MOST_POINTS, dimension: int = 3, scan: bool = False) -> Reading:
    """Read an uploaded file by the name that it had.

    Args:
        name: Only its ending decides anything; messages show it.
        content: The file.
        most: Points to keep of a cloud.
        dimension: Coordinates per point, which are 3 except in files for clustering.
        scan: Read labels and features of the points, too.
    """
    suffix = PurePath(name).suffix.lower()
    if suffix not in READERS:
        raise DataError(f"{printable(name)}: unknown format '{printable(suffix)}'; known formats: {' '.join(READERS)}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"upload{suffix}")
        path.write_bytes(content)
        return read_apart(path, name, most, dimension, scan)


def read_apart(
    path: Path, name: str | None = None, most: int = MOST_POINTS, dimension: int = 3, scan: bool = False
) -> Reading:
    """Read a file in a process of its own. Messages call it `name` (default: its path)."""
    shown = printable(path if name is None else name)
    try:
        with _turn:
            reading: Reading = guard.read_apart(_read, path, most, dimension, scan)
    except DataError as error:
        raise DataError(str(error).replace(printable(path), shown)) from None
    return reading


def _read(path: Path, most: int, dimension: int, scan: bool) -> Reading:
    """Run in the process that reads."""
    with named_errors(printable(path)), only_data_errors(path):
        return _bounded(_content(path, dimension, scan), most)


def _content(path: Path, dimension: int, scan: bool) -> Reading:
    if dimension == 3:
        raw = read_raw(path)
        return _with_fields(path, raw) if scan and isinstance(raw, Cloud) else Reading(raw)
    from ..clustering.files import read_points

    return Reading(Cloud(read_points(path, dimension)))


def _with_fields(path: Path, raw: Cloud) -> Reading:
    """A cloud with all that its file says about each point; a file that is no scan has points and normals alone."""
    if path.suffix.lower() not in FORMATS:
        return Reading(raw)
    try:
        found = read_scan(path)
    except DataError:
        return Reading(raw)
    normals = raw.normals if found.normals is None and len(found) == len(raw.points) else found.normals
    return Reading(Cloud(found.points, normals), (), found.labels, found.classes, found.features)


def _bounded(reading: Reading, most: int) -> Reading:
    """At most `most` points of a cloud, evenly over the file; a mesh is drawn from later, but has a limit, too."""
    raw = reading.raw
    if isinstance(raw, Mesh):
        if len(raw.faces) > MOST_FACES:
            raise DataError(f"expected at most {MOST_FACES:,} faces, got {len(raw.faces):,}")
        return reading
    if len(raw.points) <= most:
        return reading
    rows = np.sort(np.random.default_rng(0).choice(len(raw.points), most, replace=False))

    def some(values: Any) -> Any:
        return None if values is None else np.asarray(values)[rows]

    features = None if reading.features is None else {name: some(values) for name, values in reading.features.items()}
    return reading._replace(
        raw=Cloud(raw.points[rows], some(raw.normals)),
        notes=(f"{most:,} of {len(raw.points):,} points, drawn at random",),
        labels=some(reading.labels),
        features=features,
    )
