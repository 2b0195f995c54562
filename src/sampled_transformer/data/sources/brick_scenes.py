"""Scenes of any number of points: LDraw parts strewn or stacked on the ground, made anew from a seed. Up is z.

The parts are those of `brick-parts` (labels: the primitive that drew a point) or of `bricks` (labels: the kind of the
part), each with its own split: parts for testing are only in scenes for testing. The length 1 is the radius of the
largest parts. The density of points is about the same on all surfaces, so a scene of more points has more parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from scipy.spatial import cKDTree

from ..axes import AXES, rotation, turn_pack
from ..errors import DataError
from ..pack import Pack
from ..quantise import NORMAL_SCALE, POINT_SCALE, unit_vectors
from ..scene_clouds import SceneCloud, pack_scenes
from . import brick_parts, bricks

Labels = Literal["primitive", "kind"]
Layout = Literal["strewn", "built"]
FEWEST, MOST = 4096, 5_000_000
SIZES = (0.6, 1.0)  # radii of the parts; their real sizes are not known
CELL = 1.8  # distance of neighbouring parts or stacks; the largest overlap a little
LAYERS = 8  # of the highest stack
ROUGHNESS = 0.01  # deviation of the ground from a plane
SLOPE = 0.03  # deviation of its normals from the vertical


class Scene(NamedTuple):
    """One scene. Its points are in random order."""

    points: np.ndarray  # float32 (n, 3), z up, the ground at 0
    normals: np.ndarray  # float32 (n, 3)
    labels: np.ndarray  # int16 (n,), numbers of `classes`
    classes: tuple[str, ...]  # the first is the ground


class Parts(NamedTuple):
    """The parts to choose from."""

    points: np.ndarray  # float32 (parts, m, 3) in the unit sphere, z up
    normals: np.ndarray  # float32 (parts, m, 3)
    labels: np.ndarray  # int16 (parts, m); 0 is kept for the ground
    areas: np.ndarray  # float64 (parts,), of their surfaces
    classes: tuple[str, ...]


class Placed(NamedTuple):
    """The parts of a scene, one after the other."""

    part: np.ndarray  # int64 (placed,)
    size: np.ndarray  # float64 (placed,), the radius
    kept: np.ndarray  # int64 (placed,), how many of its points
    cell: np.ndarray  # int64 (placed,); parts of one cell are stacked


def brick_scene(
    points: int, seed: int = 0, split: str = "train", labels: Labels = "primitive", layout: Layout = "strewn"
) -> Scene:
    """Make a scene of exactly `points` points, in time O(points).

    Args:
        points: From 4,096 to 5,000,000.
        seed: The same seed gives the same scene, and another seed another one.
        split: "train" or "test", the split that the parts are from.
        labels: "primitive": ground, body, stud, tube and so on, from `brick-parts`. "kind": ground and the 18
            categories of `bricks`.
        layout: "strewn": single parts, turned at random, half of them lying on a random side. "built": stacks of up to
            8 upright parts.
    """
    for name, value, known in (("labels", labels, Labels), ("layout", layout, Layout)):
        if value not in get_args(known):
            raise DataError(f"{name}: expected {' or '.join(map(repr, get_args(known)))}, got {value!r}")
    if not FEWEST <= points <= MOST:
        raise DataError(f"points: expected {FEWEST} to {MOST}, got {points}")
    if seed < 0:
        raise DataError(f"seed: expected at least 0, got {seed}")
    parts = load_parts(split, labels)
    generator = np.random.default_rng((seed, ("train", "test").index(split), get_args(Layout).index(layout)))
    density = _density(parts)
    placed = _place(parts, points, density, layout, generator)
    columns = int(np.ceil(np.sqrt(placed.cell[-1] + 1)))
    rows = int(placed.cell[-1]) // columns + 1
    spots = generator.permutation(rows * columns)  # so that the cells that stay empty lie anywhere
    centres = CELL * (np.stack([spots % columns, spots // columns], 1) + 0.5)
    ground = points - int(placed.kept.sum())
    scene = Scene(
        np.empty((points, 3), np.float32), np.empty((points, 3), np.float32), np.zeros(points, np.int16), parts.classes
    )
    scene.points[:ground] = generator.normal(scale=ROUGHNESS, size=(ground, 3))
    scene.points[:ground, :2] = generator.uniform(0, [columns * CELL, rows * CELL], (ground, 2))
    slopes = np.concatenate([generator.normal(scale=SLOPE, size=(ground, 2)), np.ones((ground, 1))], 1)
    scene.normals[:ground] = unit_vectors(slopes)
    _fill(scene, ground, parts, placed, centres, layout, generator)
    order = generator.permutation(points)
    return Scene(scene.points[order], scene.normals[order], scene.labels[order], scene.classes)


@lru_cache(maxsize=4)
def load_parts(split: str, labels: Labels) -> Parts:
    """The parts of one split. `bricks` and `brick-parts` split their parts differently, so they are not mixed."""
    source = brick_parts if labels == "primitive" else bricks
    pack = source.load(None, split)
    pack = turn_pack(pack, pack.up)
    assert pack.normals is not None
    if labels == "primitive":
        assert pack.point_labels is not None
        numbers, classes = pack.point_labels, pack.point_classes
    else:
        assert pack.labels is not None
        numbers, classes = np.repeat(pack.labels[:, None], pack.points.shape[1], 1).astype(np.int16), pack.classes
    points = (pack.points / np.float32(POINT_SCALE)).astype(np.float32)
    normals = (pack.normals / np.float32(NORMAL_SCALE)).astype(np.float32)
    areas = np.array([_area(one) for one in points])
    return Parts(points, normals, numbers + np.int16(1), areas, ("ground", *classes))


def _area(points: np.ndarray, asked: int = 128) -> float:
    """The area of a surface from random points on it: the mean squared distance of neighbours is 1 / (pi density)."""
    distances = cKDTree(points).query(points[:: max(1, len(points) // asked)], k=2)[0][:, 1]
    return float(len(points) * np.pi * np.square(distances).mean())


def _density(parts: Parts) -> float:
    """Points per area, so that nine of ten parts of the largest size have enough; the tenth is sparser."""
    return float(parts.points.shape[1] / (np.percentile(parts.areas, 90) * SIZES[1] ** 2))


def _place(parts: Parts, points: int, density: float, layout: Layout, generator: np.random.Generator) -> Placed:
    """As many parts as `points` points suffice for, with the ground below them. All are used before any is repeated."""
    available, most = parts.points.shape[1], points // 64 + 64
    while True:
        rounds = -(-most // len(parts.points))
        part = np.concatenate([generator.permutation(len(parts.points)) for _ in range(rounds)])
        size = generator.uniform(*SIZES, len(part))
        kept = np.clip(np.rint(density * parts.areas[part] * size**2), 1, available).astype(np.int64)
        layers = np.ones(len(part), np.int64) if layout == "strewn" else generator.integers(1, LAYERS + 1, len(part))
        cell = np.repeat(np.arange(len(part)), layers)[: len(part)]
        ground = np.diff(cell, prepend=-1) * int(density * CELL**2)
        used = np.cumsum(kept + ground)
        if used[-1] > points:
            last = int(np.searchsorted(used, points, side="right"))
            return Placed(part[:last], size[:last], kept[:last], cell[:last])
        most *= 2


def _fill(
    scene: Scene,
    first: int,
    parts: Parts,
    placed: Placed,
    centres: np.ndarray,
    layout: Layout,
    generator: np.random.Generator,
) -> None:
    """Write the points of all parts into the rows of the scene from `first` on; `centres` are those of the cells."""
    height, last = 0.0, -1
    for part, size, kept, cell in zip(*(values.tolist() for values in placed), strict=True):
        end = first + kept
        matrix = _turn(layout, generator)
        rows = generator.permutation(parts.points.shape[1])[:kept]
        own = parts.points[part] @ (size * matrix).T
        low, high = own.min(0), own.max(0)
        if cell != last:  # a new place; a strewn part may lie anywhere in its cell
            free = np.maximum(0, CELL - (high - low)[:2]) / 2 * (layout == "strewn")
            place = centres[cell] + generator.uniform(-free, free)
            height, last = 0.0, cell
        moved = np.append(place - (low + high)[:2] / 2, height - low[2])
        scene.points[first:end] = own[rows] + moved.astype(np.float32)
        scene.normals[first:end] = parts.normals[part, rows] @ matrix.T
        scene.labels[first:end] = parts.labels[part, rows]
        height, first = height + float(high[2] - low[2]), end


def _turn(layout: Layout, generator: np.random.Generator) -> np.ndarray:
    """A rotation, float32 (3, 3): built parts by quarters about z, strewn ones by any angle, half of them on a side."""
    if layout == "built":
        angle, up = float(generator.integers(4)) * np.pi / 2, "z"
    else:
        angle = generator.uniform(0, 2 * np.pi)
        up = AXES[generator.integers(len(AXES))] if generator.random() < 0.5 else "z"
    cosine, sine = np.cos(angle), np.sin(angle)
    about = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
    matrix: np.ndarray = (about @ rotation(up)).astype(np.float32)
    return matrix


def load(
    root: str | Path | None = None,
    split: str = "train",
    *,
    scenes: int = 8,
    points: int = 50_000,
    seed: int = 0,
    labels: Labels = "primitive",
    layout: Layout = "strewn",
) -> Pack:
    """Make `scenes` scenes of `points` points each, as a pack that keeps their sizes; see `brick_scene`."""
    if root is not None:
        raise DataError(f"root: expected none, because scenes are made anew, got {root}")
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    if seed < 0:
        raise DataError(f"seed: expected at least 0, got {seed}")
    if scenes < 1:
        raise DataError(f"scenes: expected at least 1, got {scenes}")

    def made() -> Iterator[SceneCloud]:
        for number in range(scenes):
            one = brick_scene(points, seed * 1_000_003 + number, split, labels, layout)
            yield SceneCloud(one.points, f"{layout} {number}", one.labels, one.normals)

    return pack_scenes(made(), load_parts(split, labels).classes, "brick-scenes", up="z")
