"""Read a scan with everything it says about its points: `read_scan`, whole, or `iter_scan_chunks`, piece by piece.

A scan keeps the order and the units of its file, so that labels can go back into it (scan_writer.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..support.printable import printable
from .errors import DataError
from .fields import COLOUR_NAMES, LABEL_NAMES, PREFIX, Scan, scan_of
from .files import LARGEST_STREAMED, READERS, check_size, named_errors, only_data_errors
from .formats.kitti import kitti_fields
from .formats.labelled import classes_in
from .formats.las import SLICE, check_las_need, colour_divisor, las_bounds, las_chunks, las_classes, las_fields
from .formats.meshes import Mesh
from .formats.pcd import parse_pcd, pcd_fields
from .formats.ply import parse_ply, ply_fields
from .formats.ply_chunks import PlyRows, ply_chunks, ply_rows
from .formats.point_files import NOT_A_SCAN, npy_fields, npz_fields
from .formats.text import text_fields
from .guard import read_file, read_pieces

__all__ = ["FORMATS", "STREAMED", "Bounds", "Scan", "iter_scan_chunks", "read_scan", "scan_bounds", "streamed_count"]

TEXT = (".xyz", ".txt", ".csv", ".pts")
STREAMED = (".las", ".laz")  # these are read and written piece by piece, as are binary PLY clouds; others as a whole
FORMATS = (*STREAMED, ".ply", ".pcd", *TEXT, ".npz", ".npy", ".bin", ".obj", ".off")
UNNAMED = (*TEXT, ".npy")  # `columns` may name the columns of these


@dataclass(frozen=True)
class Bounds:
    """How many points a scan has and where they are."""

    count: int
    lower: np.ndarray  # float64 (3,)
    upper: np.ndarray  # float64 (3,)


def read_scan(path: str | Path, columns: Sequence[str] | None = None, *, label: str | None = None) -> Scan:
    """Read everything per point that a file holds.

    Args:
        path: A file whose suffix is in FORMATS.
        columns: Names of the columns of a text or .npy file, such as ["x", "y", "z", "intensity", "label"], in place of
            those in the file. "_" or "-" skips a column.
        label: The field that holds the labels (default: the first of LABEL_NAMES that the file has).
    """
    path = Path(path)
    scan: Scan = read_file(_read_scan, path, _checked_columns(path, columns), label)
    return scan


def _read_scan(path: Path, columns: list[str] | None, label: str | None) -> Scan:
    with named_errors(printable(path)), only_data_errors(path):
        check_size(path)
        if path.suffix.lower() in STREAMED:
            check_las_need(path)
            return _joined(list(_las_scans(path, SLICE, label)))
        with np.errstate(over="ignore", invalid="ignore"):  # scan_of rejects infinities and NaN
            return _read_whole(path, columns, label)


def iter_scan_chunks(
    path: str | Path, size: int = SLICE, columns: Sequence[str] | None = None, *, label: str | None = None
) -> Iterator[Scan]:
    """Read a scan in pieces of at most `size` points, in the order of the file.

    Only a piece of a LAS or LAZ file or a binary PLY cloud is in memory at a time; others are read as a whole first.
    The other arguments are those of `read_scan`.
    """
    path = Path(path)
    if size < 1:
        raise ValueError(f"size: expected at least 1, got {size}")
    _checked_columns(path, columns)
    if path.suffix.lower() in STREAMED:
        yield from read_pieces(_las_pieces, path, size, label)
    elif streamed_ply(path) is not None:
        yield from read_pieces(_ply_pieces, path, size, label)
    else:
        scan = read_scan(path, columns, label=label)
        for start in range(0, len(scan), size):
            yield scan.take(slice(start, start + size))


def streamed_count(path: str | Path) -> int | None:
    """The number of points as the header states it, if the file can be read piece by piece; None if it cannot."""
    path = Path(path)
    if path.suffix.lower() in STREAMED:
        return scan_bounds(path).count
    rows = streamed_ply(path)
    return None if rows is None else rows.vertex.count


def streamed_ply(path: Path) -> PlyRows | None:
    """Where the points of a PLY file are, if a piece of them means the same as in the whole file; else None.

    Colours that are not bytes have a scale, and labels that are not integers may be none: all of them decide that.
    """
    if path.suffix.lower() != ".ply":
        return None
    with named_errors(printable(path)):
        check_size(path, LARGEST_STREAMED)
        with only_data_errors(path):
            rows = ply_rows(path)
    if rows is None:
        return None
    kinds = {one.name.strip(" \t\"'").lower().removeprefix(PREFIX): one.type for one in rows.vertex.properties}
    scaled = {name for names in COLOUR_NAMES for name in names if kinds.get(name, "u1") != "u1"}
    unsure = {name for name in LABEL_NAMES if kinds.get(name, "i4").startswith("f")}
    return None if scaled or unsure else rows


def _las_pieces(path: Path, size: int, label: str | None) -> Iterator[Scan]:
    with named_errors(printable(path)), only_data_errors(path):
        check_size(path, LARGEST_STREAMED)
        yield from _las_scans(path, size, label)


def _ply_pieces(path: Path, size: int, label: str | None) -> Iterator[Scan]:
    rows = streamed_ply(path)
    assert rows is not None
    with named_errors(printable(path)), only_data_errors(path):
        yield from _ply_scans(path, rows, size, label)


def scan_bounds(path: str | Path, *, exact: bool = False) -> Bounds:
    """The number of points and their bounds: for LAS and LAZ from the header, unless `exact` asks for all points."""
    path = Path(path)
    if path.suffix.lower() in STREAMED and not exact:
        count, lower, upper = read_file(_las_bounds, path)
        if count and np.isfinite([lower, upper]).all() and (lower <= upper).all():
            return Bounds(count, lower, upper)
    count, lower, upper = 0, np.full(3, np.inf), np.full(3, -np.inf)
    for scan in iter_scan_chunks(path, SLICE):
        count += len(scan)
        lower, upper = np.minimum(lower, scan.points.min(0)), np.maximum(upper, scan.points.max(0))
    return Bounds(count, lower, upper)


def _las_bounds(path: Path) -> tuple[int, np.ndarray, np.ndarray]:
    with named_errors(printable(path)), only_data_errors(path):
        check_size(path, LARGEST_STREAMED)
        return las_bounds(path)


def _checked_columns(path: Path, columns: Sequence[str] | None) -> list[str] | None:
    if columns is None:
        return None
    if path.suffix.lower() not in UNNAMED:
        found = ", ".join(columns)
        raise ValueError(f"columns: expected none for {path.suffix} files, whose fields have names, got {found}")
    names = [name.strip() for name in columns]
    if not {"x", "y", "z"} <= {name.lower() for name in names}:
        raise ValueError(f"columns: expected x, y and z among them, got {', '.join(names) or 'none'}")
    return names


def _las_scans(path: Path, size: int, label: str | None) -> Iterator[Scan]:
    divisor, classes = colour_divisor(path), las_classes(path)
    first: Scan | None = None
    for part in las_chunks(path, size):
        with np.errstate(over="ignore", invalid="ignore"):  # scan_of rejects infinities and NaN
            scan = scan_of(las_fields(part, divisor), label if first is None else first.label_name, classes)
        first = first or scan
        yield scan
    if first is None:
        raise DataError("points: expected at least 1 point, got none")


def _ply_scans(path: Path, rows: PlyRows, size: int, label: str | None) -> Iterator[Scan]:
    classes = classes_in(line.removeprefix("comment ") for line in rows.head.header)
    for fields in ply_chunks(path, rows, size):
        with np.errstate(over="ignore", invalid="ignore"):  # scan_of rejects infinities and NaN
            yield scan_of(fields, label, classes)


def _joined(parts: list[Scan]) -> Scan:
    """One scan of pieces that have the same fields."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return Scan(
        np.concatenate([part.points for part in parts]),
        None if first.normals is None else np.concatenate([part.normals for part in parts if part.normals is not None]),
        None if first.labels is None else np.concatenate([part.labels for part in parts if part.labels is not None]),
        first.label_name,
        {name: np.concatenate([part.features[name] for part in parts]) for name in first.features},
        first.classes,
    )


def _read_whole(path: Path, columns: list[str] | None, label: str | None) -> Scan:
    suffix = path.suffix.lower()
    if suffix in TEXT:
        return scan_of(text_fields(path, columns), label)
    if suffix == ".npy":
        return scan_of(npy_fields(path, columns), label)
    if suffix == ".npz":
        fields, classes = npz_fields(path)
        return scan_of(fields, label, classes)
    if suffix == ".ply":
        ply = parse_ply(path)
        return scan_of(ply_fields(ply), label, classes_in(line.removeprefix("comment ") for line in ply.header))
    if suffix == ".pcd":
        table = parse_pcd(path)
        return scan_of(pcd_fields(table), label, classes_in(line.removeprefix("# ") for line in table.lines))
    if suffix == ".bin":
        return scan_of(kitti_fields(path), label)
    if suffix not in READERS:
        raise DataError(f"unknown format '{path.suffix}'; known formats: {' '.join(FORMATS)}")
    raw = READERS[suffix](path)
    if isinstance(raw, Mesh):
        raise DataError(NOT_A_SCAN)
    fields = dict(zip("xyz", raw.points.T, strict=True))
    if raw.normals is not None:
        fields |= dict(zip(("nx", "ny", "nz"), np.asarray(raw.normals).T, strict=True))
    return scan_of(fields, label)
