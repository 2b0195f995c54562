"""Everything per point that a file holds: `Scan`, and how the names of fields decide what is what.

A reader in formats/ returns columns by name. Here x, y, z become points, nx, ny, nz become normals, red, green, blue
become one colour from 0 to 1, a field named label or class becomes labels, and every other number is a feature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ..support.registry import did_you_mean
from .errors import DataError
from .formats.point_files import named_columns
from .quantise import check_coordinates

# The first of these that a file has gives the labels.
LABEL_NAMES = (
    "label",
    "labels",
    "point_labels",
    "point_label",
    "semantic_label",
    "semantic",
    "sem_label",
    "ground_truth",
    "classification",
    "category",
    "class",  # last, because that is how we write what a network says
)
COLOUR_NAMES = (("red", "green", "blue"), ("diffuse_red", "diffuse_green", "diffuse_blue"), ("r", "g", "b"))
COLOUR_ARRAYS = ("colour", "color", "colours", "colors", "rgb")
PREFIX = "scalar_"  # what CloudCompare puts before the name of every scalar field


@dataclass(frozen=True)
class Scan:
    """The points of a file in its own units and order, and what it says about each of them."""

    points: np.ndarray  # float64 (n, 3)
    normals: np.ndarray | None = None  # float64 (n, 3)
    labels: np.ndarray | None = None  # int64 (n,), the numbers in the file; -1 where it has NaN
    label_name: str | None = None  # the field that they come from
    features: dict[str, np.ndarray] = field(default_factory=dict)  # float32 or float64, (n,) or (n, k)
    classes: dict[int, str] = field(default_factory=dict)  # names of labels, if the file states them

    def __len__(self) -> int:
        return len(self.points)

    def missing(self) -> dict[str, int]:
        """The features, or normals, that are NaN or infinite somewhere, and for how many points."""
        counts = {}
        normals = {} if self.normals is None else {"normals": self.normals}
        for name, values in (normals | self.features).items():
            known = np.isfinite(values) if values.ndim == 1 else np.isfinite(values).all(1)
            counts[name] = int((~known).sum())
        return {name: count for name, count in counts.items() if count}

    def take(self, rows: np.ndarray | slice) -> Scan:
        """The same for some of the points."""
        return Scan(
            self.points[rows],
            None if self.normals is None else self.normals[rows],
            None if self.labels is None else self.labels[rows],
            self.label_name,
            {name: values[rows] for name, values in self.features.items()},
            self.classes,
        )


def scan_of(
    fields: Mapping[str, np.ndarray], label: str | None = None, classes: Mapping[int, str] | None = None
) -> Scan:
    """Sort fields, one value or row of values per point, into a scan. `label` names the field with the labels."""
    left = _plain_names(fields)
    positions, normals = named_columns(list(left))
    if positions is None:
        raise DataError(f"no points; expected the fields x, y, z, got {', '.join(left) or 'no fields'}")
    names = list(left)
    points = check_coordinates(_joined(left, [names[i] for i in positions]), "points")
    for name, values in left.items():
        if len(values) != len(points):
            raise DataError(f"{name}: expected one value per point ({len(points)}), got {len(values)}")
    directions = _joined(left, [names[i] for i in normals]).astype(np.float64) if normals else None
    label_name, labels = _take_labels(left, label)
    colour = _take_colour(left)
    features = {"colour": colour} if colour is not None else {}
    features |= {name: _as_feature(values) for name, values in left.items()}
    return Scan(points, directions, labels, label_name, features, dict(classes or {}))


def _plain_names(fields: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Names in lower case without CloudCompare's prefix, so that a feature has one name in all formats."""
    plain: dict[str, np.ndarray] = {}
    for name, values in fields.items():
        lower = name.strip(" \t\"'").lower()
        short = lower.removeprefix(PREFIX) or lower
        plain[short if short not in plain else name] = np.asarray(values)
    return plain


def _joined(fields: dict[str, np.ndarray], names: list[str]) -> np.ndarray:
    """Take columns out of `fields` and put them side by side."""
    parts = [fields.pop(name) for name in names]
    if len({part.shape for part in parts}) > 1:
        raise DataError(
            f"{', '.join(names)}: expected equal lengths, got {', '.join(str(len(part)) for part in parts)}"
        )
    return np.stack(parts, 1)


def _take_labels(fields: dict[str, np.ndarray], wanted: str | None) -> tuple[str | None, np.ndarray | None]:
    """Take the labels out of `fields`. A field that is only named like labels must hold whole numbers."""
    if wanted is not None:
        name = wanted.lower().removeprefix(PREFIX)
        if name not in fields:
            hint = did_you_mean(name, list(fields))
            raise DataError(f"label: expected one of {', '.join(fields) or 'no fields'}, got '{wanted}'{hint}")
        labels = _whole_numbers(fields[name])
        if labels is None:
            raise DataError(f"label: expected one whole number per point in '{wanted}', got other values")
        del fields[name]
        return name, labels
    for name in LABEL_NAMES:
        labels = _whole_numbers(fields[name]) if name in fields else None
        if labels is not None:
            del fields[name]
            return name, labels
    return None, None


def _whole_numbers(values: np.ndarray) -> np.ndarray | None:
    """The values as int64, with -1 for NaN; None if they are not all whole numbers."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        return None
    if values.dtype.kind in "iub":
        return values.astype(np.int64)
    unknown = np.isnan(values)
    known = np.where(unknown, -1, values)
    if unknown.all() or not (np.abs(known) < 2**53).all() or (known != np.rint(known)).any():
        return None
    return known.astype(np.int64)


def _take_colour(fields: dict[str, np.ndarray]) -> np.ndarray | None:
    """Take the colours out of `fields`, (n, 3) from 0 to 1; None if there are none that make sense."""
    for names in COLOUR_NAMES:
        if set(names) <= fields.keys() and all(fields[name].ndim == 1 for name in names):
            colour = scaled_colour(np.stack([fields[name] for name in names], 1))
            if colour is not None:
                for name in names:
                    del fields[name]
                return colour
    for name in COLOUR_ARRAYS:
        if name in fields and fields[name].ndim == 2 and fields[name].shape[1] in (3, 4):
            colour = scaled_colour(fields[name][:, :3])
            if colour is not None:
                del fields[name]
                return colour
    return None


def scaled_colour(values: np.ndarray) -> np.ndarray | None:
    """Colours from 0 to 1, float32. Bytes are divided by 255; wider values by 255 if none is larger, or by 65535."""
    if values.dtype == np.uint8:
        return values.astype(np.float32) / np.float32(255)
    known = values[np.isfinite(values)]
    lowest, highest = (known.min(), known.max()) if known.size else (0, 0)
    if lowest < 0 or highest > 65535:
        return None
    fraction = values.dtype.kind == "f" and highest <= 1
    return values.astype(np.float32) / np.float32(1 if fraction else 255 if highest <= 255 else 65535)


def _as_feature(values: np.ndarray) -> np.ndarray:
    """The values as float32, or as float64 where float32 would round them."""
    exact = values.dtype.kind == "b" or values.dtype.itemsize < 4 or values.dtype == np.float32
    return values.astype(np.float32 if exact else np.float64)
