"""Label points that are in memory, as `TrainedNetwork.segment` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.axes import check_up, turn
from ..data.errors import DataError
from ..data.quantise import check_coordinates
from ..data.scans import read_scan
from ..training.point_loading import NORMALS, PointView
from .segment_files import scan_features
from .segmentation import Points, Segmentation, check_features, label_points, most_points, point_view_of
from .trained import in_evaluation

if TYPE_CHECKING:
    from .trained_network import TrainedNetwork


def segment_arrays(
    trained: TrainedNetwork, points: Any, features: Any, samples: int, memory: float, up: str | None
) -> Segmentation:
    """See `TrainedNetwork.segment`."""
    view = point_view_of(trained.description, trained.name)
    check_up(up)
    if isinstance(points, str | Path):
        if features is not None:
            raise ValueError("features: expected none with a file, which has its own, got some")
        scan = read_scan(points)
        positions, known = scan.points, scan_features(scan, view, {}, None)
    else:
        positions = check_coordinates(as_array(points), "points")
        known = _named(features, view, len(positions))
    if up is not None:
        positions = turn(positions, up)
    found, notes = check_features(view, known, len(positions))
    if up is not None and NORMALS in found:
        found[NORMALS] = turn(found[NORMALS], up)
    with in_evaluation(trained.network):
        labels, confidence = label_points(
            trained.network, view, Points(positions, found), samples=samples, most=most_points(memory)
        )
    return Segmentation(labels, confidence, trained.classes, tuple(notes))


def as_array(values: Any) -> np.ndarray:
    """A tensor, list or array as a numpy array."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)


def _numbers(values: Any, name: str) -> np.ndarray:
    found = as_array(values)
    if found.ndim == 0 or found.dtype.kind not in "fiub":
        raise DataError(f"{name}: expected numbers, one or more per point, got {found.dtype} {found.shape}")
    return found.astype(np.float32)


def _named(features: Any, view: PointView, count: int) -> dict[str, np.ndarray]:
    """Features by name; one array holds all of them side by side."""
    if features is None:
        return {}
    if isinstance(features, Mapping):
        for name in features:
            if name not in view.features:
                known = ", ".join(view.features) or "none"
                raise ValueError(f"features: expected those of the network ({known}), got {name!r}")
        return {name: _numbers(values, name) for name, values in features.items()}
    table = _numbers(features, "features")
    total = sum(view.features.values())
    if table.shape != (count, total):
        wanted = ", ".join(f"{name} ({width})" for name, width in view.features.items()) or "none"
        raise DataError(f"features: expected the shape {(count, total)} for {wanted}, got {table.shape}")
    ends = np.cumsum(list(view.features.values()))[:-1]
    return dict(zip(view.features, np.split(table, ends, 1), strict=True))
