"""Check the arrays of a pack: types and shapes from the headers alone, then ranges, order and finite values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import DataError
from .formats.npz import Header
from .per_point import MOST_CLASSES, PREFIX, check_features
from .quantise import NORMAL_SCALE, POINT_SCALE

if TYPE_CHECKING:
    from .pack import Pack

# fmt: off
FIELDS = (
    "points", "normals", "labels", "names", "classes", "target_name", "up", "ptr", "point_labels", "point_classes",
    "centre", "scale",
)
# fmt: on


def _expect(name: str, header: Header, kinds: str, shape: tuple[int, ...], what: str) -> None:
    if header.dtype.kind not in kinds or header.shape != shape:
        raise DataError(f"{name}: expected {what} of shape {shape}, got {header.dtype} {header.shape}")


def check_rows(name: str, sets: Any, points: Any) -> None:
    """Check that every set has one row of `sets` per point, and that all rows are equally wide."""
    shapes = [np.shape(one) for one in sets]
    if [shape[:1] for shape in shapes] != [np.shape(one)[:1] for one in points]:
        raise DataError(f"{name}: expected one per point in every set, got other lengths")
    if len({shape[1:] for shape in shapes}) > 1:
        raise DataError(f"{name}: expected the same columns in every set, got {len({s[1:] for s in shapes})} widths")


def check_headers(headers: Mapping[str, Header]) -> None:
    """Check the types and shapes of a pack's arrays, before any array is read."""
    if "points" not in headers:
        raise DataError(f"points: expected an array of this name, got {', '.join(headers) or 'no arrays'}")
    points, ptr = headers["points"], headers.get("ptr")
    if "point_labels" in headers and "point_classes" not in headers:
        raise DataError("point_classes: expected the names of the classes of point_labels, got none")
    layout = "(sets, n, 3) with n >= 1" if ptr is None else "(total, 3), because the pack has a ptr"
    fits = len(points.shape) == (3 if ptr is None else 2) and points.shape[-1] == 3 and points.shape[1] > 0
    if points.dtype != np.int16 or not fits:
        raise DataError(f"points: expected int16 of shape {layout}, got {points.dtype} {points.shape}")
    sets = points.shape[0]
    if ptr is not None:
        sets = math.prod(ptr.shape) - 1
        _expect("ptr", ptr, "iu", (max(sets, 0) + 1,), "integers")
    for name, header in headers.items():
        if name == "labels":
            _expect(name, header, "iuf", (sets,), "integers or floats")
        elif name in ("target_name", "up"):
            _expect(name, header, "U", (1,), "text")
        elif name == "names":
            _expect(name, header, "U", (sets,), "text")
        elif name in ("classes", "point_classes"):
            _expect(name, header, "U", (math.prod(header.shape),), "text")
        elif name == "point_labels":
            _expect(name, header, "iu", points.shape[:-1], "integers")
        elif name == "centre":
            _expect(name, header, "iuf", (sets, 3), "numbers")
        elif name == "scale":
            _expect(name, header, "iuf", (sets,), "numbers")
        elif name.startswith(PREFIX):
            _check_feature(name, header, points.shape[:-1])
        elif name == "normals" and (header.dtype != np.int8 or header.shape != points.shape):
            raise DataError(f"normals: expected int8 of shape {points.shape}, got {header.dtype} {header.shape}")
        elif name not in FIELDS and (header.dtype.kind not in "biufU" or header.shape[:1] != (sets,)):
            raise DataError(f"{name}: expected numbers or text with {sets} rows, got {header.dtype} {header.shape}")


def _check_feature(name: str, header: Header, rows: tuple[int, ...]) -> None:
    more = header.shape[len(rows) :]
    if header.dtype.kind not in "biuf" or header.shape[: len(rows)] != rows or len(more) > 1 or 0 in more:
        shapes = f"{rows} or {(*rows, 'columns')}".replace("'", "")
        raise DataError(f"{name}: expected numbers of shape {shapes}, got {header.dtype} {header.shape}")


def check_values(pack: Pack) -> None:
    """Check what the headers do not show: ranges, order and finite values."""
    for name, values, limit in (("points", pack.points, POINT_SCALE), ("normals", pack.normals, NORMAL_SCALE)):
        if values is not None and values.size and values.min() < -limit:
            raise DataError(f"{name}: expected -{limit} to {limit}, got {values.min()}")
    ptr = pack.ptr
    if ptr is not None and (ptr[0] != 0 or ptr[-1] != len(pack.points) or (np.diff(ptr) <= 0).any()):
        raise DataError(f"ptr: expected numbers that increase from 0 to {len(pack.points)}, got {_shorten(ptr)}")
    labels = pack.labels
    if pack.has_numbers:
        _check_numbers(pack)
    elif pack.target_name:
        raise DataError(f"target_name: expected none without float labels, got {pack.target_name!r}")
    largest = len(pack.classes) - 1 if pack.classes else np.iinfo(np.int64).max
    if labels is not None and not pack.has_numbers and labels.size and (labels.min() < 0 or labels.max() > largest):
        raise DataError(f"labels: expected 0 to {largest}, got {labels.min()} to {labels.max()}")
    if pack.up not in ("", "x", "y", "z", "-x", "-y", "-z"):
        raise DataError(f"up: expected an axis such as z or -y, got {pack.up!r}")
    _check_names("classes", pack.classes)
    _check_names("point_classes", pack.point_classes)
    if len(pack.point_classes) > MOST_CLASSES:
        raise DataError(f"point_classes: expected at most {MOST_CLASSES} names, got {len(pack.point_classes)}")
    check_features(pack.features)
    for name, size in (("centre", pack.centre), ("scale", pack.scale)):
        if size is not None and not np.isfinite(size).all():
            raise DataError(f"{name}: expected finite numbers, got NaN or infinity")
    if pack.scale is not None and pack.scale.size and pack.scale.min() < 0:
        raise DataError(f"scale: expected at least 0, got {pack.scale.min():.6g}")
    for name, values in pack.extras.items():
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            raise DataError(f"{name}: expected finite numbers, got NaN or infinity")


def _check_names(field: str, names: tuple[str, ...]) -> None:
    if len(set(names)) != len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{field}: expected different names, got {double!r} twice")


def _check_numbers(pack: Pack) -> None:
    if not np.isfinite(pack.labels).all():  # type: ignore[arg-type]
        raise DataError("labels: expected finite numbers, got NaN or infinity")
    if pack.classes:
        raise DataError(f"classes: expected none, because the labels are floats, got {len(pack.classes)}")


def _shorten(values: np.ndarray) -> str:
    """The first numbers of an array, for an error message."""
    return str(values[:6].tolist())[:-1] + (", ...]" if len(values) > 6 else "]")
