"""Build a pack from a stream of clouds whose points have labels, without holding all of them in memory as floats."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .clouds import LONGEST_NAME
from .content import row_keys
from .errors import DataError
from .pack import Pack, join_sets
from .per_point import settle_labels
from .quantise import check_coordinates, quantise_normals, quantise_with_size


class SceneCloud(NamedTuple):
    """One shape, room or scan with a label per point, as read from its file."""

    points: np.ndarray  # (n, 3)
    name: str
    point_labels: np.ndarray  # integers (n,), -1 for points to ignore
    normals: np.ndarray | None = None  # (n, 3)
    features: Mapping[str, np.ndarray] = {}  # (n,) or (n, columns)
    label: int | None = None  # number of the class of the whole shape


def pack_scenes(
    clouds: Iterable[SceneCloud],
    point_classes: Sequence[str],
    where: str,
    *,
    classes: Sequence[str] = (),
    points: int | None = None,
    grid: float | None = None,
    seed: int = 0,
    up: str = "",
) -> Pack:
    """Pack clouds of any sizes, and keep their centres and scales.

    `grid` keeps one random point per cube of this size, and then `points` that many random points per cloud, or all
    points of smaller clouds; `seed` fixes the choice. Error messages name `where`, the file or folder that the clouds
    come from, and then the cloud.
    """
    if points is not None and points < 1:
        raise DataError(f"points: expected at least 1, got {points}")
    if grid is not None and not 0 < grid < np.inf:
        raise DataError(f"grid: expected a positive number, got {grid}")
    stored = []
    first: SceneCloud | None = None
    for number, cloud in enumerate(clouds):
        first = cloud if first is None else first
        name = f"{where}: {cloud.name}"
        _check_kind(cloud, first, name)
        rows = _rows(cloud.points, points, grid, np.random.default_rng((seed, number)), name)
        places, centre, scale = quantise_with_size(cloud.points[rows], name=name)
        normals = None if cloud.normals is None else quantise_normals(cloud.normals[rows], name)
        labels = _labels(cloud.point_labels[rows], len(point_classes), name)
        features = {key: values[rows] for key, values in cloud.features.items()}
        stored.append((places, normals, labels, features, centre, scale, cloud.name[:LONGEST_NAME], cloud.label))
    if first is None:
        raise DataError(f"{where}: no shapes")
    places, normals, labels, features, centres, scales, names, numbers = zip(*stored, strict=True)
    packed, ptr = join_sets(list(places))
    return Pack(
        packed,
        tuple(classes),
        labels=None if first.label is None else np.array(numbers),
        names=np.array(names, dtype=np.str_),
        normals=None if first.normals is None else join_sets(list(normals))[0],
        ptr=ptr,
        up=up,
        point_labels=join_sets(list(labels))[0],
        point_classes=tuple(point_classes),
        features={key: join_sets([one[key] for one in features])[0] for key in first.features},
        centre=np.stack(centres),
        scale=np.array(scales),
    )


def _rows(
    places: np.ndarray, points: int | None, grid: float | None, generator: np.random.Generator, name: str
) -> np.ndarray:
    """The rows of a cloud to keep, in their order. Every cloud has its own generator, so that others do not matter."""
    rows = np.arange(len(places)) if grid is None else thin_out(check_coordinates(places, name), grid, generator)
    if points is None or points >= len(rows):
        return rows
    return np.sort(generator.choice(rows, points, replace=False, shuffle=False))


def thin_out(points: np.ndarray, grid: float, generator: np.random.Generator) -> np.ndarray:
    """The rows of one random point (n, 3) per cube of side `grid`, in their order."""
    order = generator.permutation(len(points))
    cubes = np.floor((points[order] - points.min(0)) / grid)
    _, first = np.unique(row_keys(cubes), return_index=True)
    kept: np.ndarray = np.sort(order[first])
    return kept


def _check_kind(cloud: SceneCloud, first: SceneCloud, name: str) -> None:
    """Check that a cloud has one label per point, and the normals and features of the clouds before it."""
    per_point = {"point_labels": cloud.point_labels, "normals": cloud.normals, **cloud.features}
    for key, values in per_point.items():
        if values is not None and len(values) != len(cloud.points):
            raise DataError(f"{name}: {key}: expected one per point, {len(cloud.points)}, got {len(values)}")
    have, before = (_carried(one) for one in (cloud, first))
    if have != before:
        expected, got = (", ".join(one) or "points alone" for one in (before, have))
        raise DataError(f"{name}: expected {expected}, as in the shapes before it, got {got}")


def _carried(cloud: SceneCloud) -> list[str]:
    named = [f"{key} {values.shape[1:]}" for key, values in sorted(cloud.features.items())]
    return ["normals"] * (cloud.normals is not None) + ["a label"] * (cloud.label is not None) + named


def _labels(labels: np.ndarray, classes: int, name: str) -> np.ndarray:
    try:
        return settle_labels(labels, classes)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
