"""Large clouds: their points are in memory maps, and only what is drawn of them comes into memory.

LAS, LAZ and binary PLY files can be read this way. The temporary files need 24 bytes per point, 48 with normals, and 8
while points are drawn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..support.memory import release_pages
from ..support.workspace import Workspace, pieces, take
from .axes import turn
from .content import drawn_rows_on_disk
from .errors import DataError
from .formats.las import SLICE, las_bounds, las_chunks
from .formats.ply_chunks import ply_chunks, ply_rows
from .formats.point_files import Cloud, named_columns
from .quantise import LARGEST, unit_vectors, wrong_numbers

LARGE = 2_000_000  # points; smaller clouds are read as a whole


def is_large(cloud: object) -> bool:
    """Whether the points of a cloud are in a memory map."""
    return isinstance(cloud, Cloud) and isinstance(cloud.points, np.memmap)


@contextmanager
def large_cloud(path: Path) -> Iterator[Cloud | None]:
    """A large cloud in temporary files that end with the block; None if the file is small, or none of these formats."""
    source = _source(path)
    if source is None:
        yield None
        return
    count, chunks = source
    with tempfile.TemporaryDirectory(prefix="sampled-transformer-") as folder:
        yield _copied(Workspace(Path(folder)), count, chunks)


def turned_cloud(cloud: Cloud, up: str, to: str = "z") -> Cloud:
    """A large cloud with its normals, turned so that `up` becomes `to`, in files beside its own."""
    space = _beside(cloud)
    maps = []
    for values in (cloud.points, cloud.normals):
        if values is not None:
            turned = space.zeros(values.shape, np.float64)
            for some, own in pieces(values):
                turned[some] = turn(np.asarray(own), up, to)
                release_pages(turned)
            maps.append(turned)
    return _cloud(maps)


def draw_large(cloud: Cloud, count: int, seed: int, normals: bool) -> tuple[np.ndarray, Cloud]:
    """Rows drawn by content, as many as there are up to `count`, and the points there with unit normals, if wanted."""
    first = np.asarray(cloud.points[0])
    if all((own == first).all() for _, own in pieces(cloud.points)):
        raise DataError(f"points: expected at least 2 different points, got {len(cloud.points)} equal points")
    own = cloud.normals if normals else None
    space = _beside(cloud)
    rows = drawn_rows_on_disk(cloud.points, count, own, seed, space=space)
    order = rows.argsort()
    back = np.empty_like(order)
    back[order] = np.arange(len(rows))
    points, directions = (None if one is None else take(one, rows[order])[back] for one in (cloud.points, own))
    assert points is not None
    return rows, Cloud(points, None if directions is None else unit_vectors(directions))


def _source(path: Path) -> tuple[int, Iterator[tuple[np.ndarray, np.ndarray | None]]] | None:
    """The number of points and the points themselves with their normals, piece by piece; None if there are few."""
    suffix = path.suffix.lower()
    if suffix in (".las", ".laz"):
        count = las_bounds(path)[0]
        parts = ((np.stack([part.x, part.y, part.z], 1), None) for part in las_chunks(path, SLICE))
        return (count, parts) if count > LARGE else None
    rows = ply_rows(path) if suffix == ".ply" else None
    if rows is None or rows.vertex.count <= LARGE:
        return None
    positions, normals = named_columns(rows.names)
    assert positions is not None

    def columns(fields: dict[str, np.ndarray], places: list[int]) -> np.ndarray:
        return np.stack([fields[rows.names[place]] for place in places], 1).astype(np.float64)

    chunks = ply_chunks(path, rows, SLICE)
    return rows.vertex.count, ((columns(one, positions), columns(one, normals) if normals else None) for one in chunks)


def _copied(space: Workspace, count: int, chunks: Iterator[tuple[np.ndarray, np.ndarray | None]]) -> Cloud:
    """Copy points into memory maps, and check them as those of small clouds."""
    maps: list[np.ndarray] = []
    begin, bad, first, finite = 0, [0, 0], [0, 0], [True, True]
    for chunk in chunks:
        given = [one for one in chunk if one is not None]
        maps = maps or [space.zeros((count, 3), np.float64) for _ in given]
        for place, (one, own) in enumerate(zip(maps, given, strict=True)):
            wrong = ~(np.abs(own) < LARGEST).all(1)
            if wrong.any() and not bad[place]:
                first[place] = begin + int(wrong.argmax())
            bad[place] += int(wrong.sum())
            finite[place] &= bool(np.isfinite(own[wrong]).all())
            one[begin : begin + len(own)] = own
            release_pages(one)
        begin += len(given[0])
    for place, name in enumerate(("points", "normals")):
        if bad[place]:
            raise wrong_numbers(name, finite[place], bad[place], count, first[place])
    return _cloud(maps)


def _cloud(maps: list[np.ndarray]) -> Cloud:
    """Points, and normals if there are any."""
    return Cloud(maps[0], maps[1] if len(maps) > 1 else None)


def _beside(cloud: Cloud) -> Workspace:
    """A new folder beside the files of a cloud, which ends with them."""
    return Workspace(Path(tempfile.mkdtemp(dir=Path(str(cloud.points.filename)).parent)))  # type: ignore[attr-defined]
