"""Write .npz and .npy files again with classes, and the labels of SemanticKITTI scans."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import DataError
from .labelled import Labelled
from .npz import read_array, read_arrays
from .point_files import npz_fields, points_name


def labelled_arrays(path: Path, labelled: Labelled) -> dict[str, np.ndarray]:
    """The arrays of an .npz or .npy file, and `point_labels`, `confidence` and `point_classes` with them."""
    if path.suffix.lower() == ".npz":
        npz_fields(path)  # it refuses what is no scan
        arrays = read_arrays(path)
        count = len(arrays[points_name(list(arrays))])
    else:
        arrays = _named_arrays(read_array(path, structured=True))
        count = len(arrays["points"])
    if len(labelled.labels) != count:
        raise DataError(f"labels: expected one per point ({count}), got {len(labelled.labels)}")
    names = [labelled.classes.get(number, "") for number in range(max(labelled.classes) + 1)]
    own = {"point_labels": labelled.labels, "confidence": labelled.confidence, "point_classes": np.array(names)}
    return arrays | own


def _named_arrays(array: np.ndarray) -> dict[str, np.ndarray]:
    if array.dtype.names is None:
        return {"points": array}
    names = {name.lower(): name for name in array.dtype.names}
    if not names.keys() >= {"x", "y", "z"}:
        raise DataError(f"no points; expected the fields x, y, z, got {', '.join(array.dtype.names)}")
    points = np.stack([array[names.pop(name)] for name in "xyz"], 1)
    return {"points": points} | {name: array[name] for name in names.values()}
