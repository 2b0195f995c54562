"""What a pack says about every single point: class numbers and named features. `Pack` calls these checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..support.printable import printable
from .errors import DataError

if TYPE_CHECKING:
    from .pack import Pack

IGNORE = -1  # the label of points that belong to no class, or to one that nobody knows
PREFIX = "feature_"  # the feature `colour` is the array `feature_colour` on disk
COLOUR = "colour"
MOST_CLASSES = np.iinfo(np.int16).max


def settle_labels(labels: np.ndarray, classes: int) -> np.ndarray:
    """Labels of any integer type as int16, with -1 for points to ignore.

    Unsigned types have no -1. There, the largest number of the type means the same, unless it is the number of a class.
    """
    largest = np.iinfo(labels.dtype).max
    ignored = labels == largest if labels.dtype.kind == "u" and largest >= classes else labels == IGNORE
    known = labels if not ignored.any() else labels[~ignored]
    if known.size and (known.min() < 0 or known.max() >= classes):
        bad = known.min() if known.min() < 0 else known.max()
        raise DataError(f"point_labels: expected 0 to {classes - 1}, or -1 for points to ignore, got {bad}")
    if labels.dtype == np.int16:
        return labels
    settled = labels.astype(np.int16)
    settled[ignored] = IGNORE
    return settled


def stored_labels(labels: np.ndarray, classes: int) -> np.ndarray:
    """Labels as they are written: in the smallest signed type that holds all classes."""
    return labels.astype(np.int8 if classes - 1 <= np.iinfo(np.int8).max else np.int16)


def check_features(features: Mapping[str, np.ndarray]) -> None:
    """Check the names and the values of features; `check_headers` checks their types and shapes."""
    for name, values in features.items():
        if not name or not name.isprintable() or "/" in name or "\\" in name:
            raise DataError(f"features: expected printable names without slashes, got {printable(repr(name))}")
        # A batch is float32, where larger numbers would become infinite.
        if values.dtype.kind == "f" and not (np.abs(values) <= np.finfo(np.float32).max).all():
            raise DataError(f"{PREFIX}{name}: expected finite numbers of float32, got NaN or infinity")


def width(values: np.ndarray, points: np.ndarray) -> int:
    """The number of columns of a feature: 1 unless it has an axis more than the points have rows."""
    return 1 if values.ndim == points.ndim - 1 else values.shape[-1]


def unit(name: str, values: np.ndarray) -> float:
    """What a stored feature is divided by when it is read: bytes of a colour become 0 to 1, as in scans."""
    return 255.0 if name == COLOUR and values.dtype == np.uint8 else 1.0


def expect_point_labels(pack: Pack, where: str) -> None:
    """Raise a DataError unless some point of the pack has a class. `where` names the data."""
    if pack.point_labels is None:
        raise DataError(f"{where}: expected point_labels, the class of every point, got none")
    if not (pack.point_labels != IGNORE).any():
        total = f"{pack.point_labels.size:,}"
        raise DataError(f"{where}: point_labels: expected at least 1 point with a class, got {total} points to ignore")
