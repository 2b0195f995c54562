"""Read one file of any known format as points: `read_shape`. The readers themselves are in formats/.

`read_shape` is `read_raw`, which reads what the file holds, and `draw_shape`, which also takes what is in memory. Both
happen in another process if this one is guarded (guard.py).

Points on a mesh are drawn uniformly by area and take the normals of their faces. From a cloud we draw a random subset,
or all of them and random ones again if it has too few. What the file holds decides the draw: the order of its points or
triangles does not matter, nor does its name (content.py). A file whose format prescribes y up (axes.py) is turned to
z up; other files stay as they are unless we are told which axis is up.
"""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ..support.printable import printable
from .axes import check_up, standard_up, turn_raw
from .content import canonical_mesh, distinct_first, drawn_rows, filled
from .errors import DataError
from .formats.las import read_las
from .formats.meshes import Mesh, read_off, sample_surface
from .formats.obj import read_obj
from .formats.pcd import read_pcd
from .formats.ply import read_ply
from .formats.point_files import Cloud, read_npy, read_npz
from .formats.scenes import read_gltf
from .formats.stl import read_stl
from .formats.text import read_text
from .guard import read_each, read_file
from .large_clouds import draw_large, is_large, large_cloud, turned_cloud
from .limits import FACE_BYTES, POINT_BYTES, check_need, reason_of, too_much_memory
from .normals import LARGEST_SEARCH, estimate_normals
from .quantise import check_coordinates, to_unit_sphere, unit_vectors

LARGEST_FILE = 2**31  # bytes; we read a file into memory as a whole
LARGEST_STREAMED = 2**40  # bytes, where we do not
MOST_POINTS = 10_000_000
NAMELESS = "a shape has points and unit normals"  # why columns without names are not used

Normals = Literal["keep", "estimate", "none"]


class Shape(NamedTuple):
    """Points (n, 3) and unit normals (n, 3) or None, both float32."""

    points: np.ndarray
    normals: np.ndarray | None
    from_mesh: bool
    distinct: int  # the first `distinct` points differ, the others repeat them; for a mesh, all of them
    unused: str = ""  # columns of the file that have no name and are neither points nor normals
    estimated: bool = False  # whether the normals were estimated from neighbours


class Draw(NamedTuple):
    """A shape, and where its points come from."""

    shape: Shape
    places: np.ndarray  # the points in the units of the file, (n, 3) float64
    rows: np.ndarray | None  # for a cloud, which of its points each one is, (n,)


def _read_npz(path: Path) -> Mesh | Cloud:
    cloud, faces = read_npz(path)
    return cloud if faces is None else Mesh(cloud.points, faces)


READERS: dict[str, Callable[[Path], Mesh | Cloud]] = {
    ".off": read_off,
    ".ply": read_ply,
    ".obj": read_obj,
    ".stl": read_stl,
    ".glb": read_gltf,
    ".gltf": read_gltf,
    ".xyz": read_text,
    ".txt": read_text,
    ".csv": read_text,
    ".pts": read_text,
    ".npy": read_npy,
    ".npz": _read_npz,
    ".pcd": read_pcd,
    ".las": read_las,
    ".laz": read_las,
}


def read_shape(
    path: str | Path,
    *,
    points: int = 2048,
    normals: Normals = "keep",
    seed: int = 0,
    name: str | None = None,
    normalise: bool = True,
    up: str | None = None,
) -> Shape:
    """Read one file as `points` points.

    Args:
        path: A file whose suffix is in READERS.
        points: Number of points to draw from the mesh or cloud.
        normals: "keep" uses the normals of the file or its faces; "estimate" also estimates missing ones; "none"
            drops them.
        seed: Seed of the draw. The draw depends only on `seed` and the content, so it is the same in every process.
        name: Text that seeds the draw together with `seed`, instead of the content. The order of the points then
            matters.
        normalise: Centre the points on their mean and divide by the largest norm.
        up: The axis that is up in the file, such as "y" or "-z", which becomes z (default: what the format prescribes,
            or else the axes stay as they are).
    """
    check_options(points, normals)
    check_up(up)
    path = Path(path)
    axis = up or standard_up(path)
    shape: Shape = read_file(_read_shape, path, axis, name, points, normals, seed, normalise)
    if shape.unused:  # without the name of the file, so that Python shows it once for a folder of them
        warnings.warn(f"{path.suffix} file: {shape.unused} not used; {NAMELESS}", stacklevel=2)
    return shape


def read_raw(path: Path) -> Mesh | Cloud:
    """Read the mesh or the cloud that a file holds, and check it."""
    raw: Mesh | Cloud = read_file(_read_raw, path)
    return raw


def read_draws(
    path: Path, axes: Sequence[str | None], to: str, name: str | None, points: int, normals: Normals
) -> list[Draw]:
    """Read a file and draw from it once per axis that may be up in it, which becomes `to`; see `draw_shape`."""
    draws: list[Draw] = read_file(_read_draws, path, axes, to, name, points, normals)
    return draws


def read_all_draws(
    requests: Iterable[tuple[Path, Sequence[str | None]]], to: str, points: int, normals: Normals
) -> Iterator[list[Draw] | DataError]:
    """As `read_draws`, for many files with their axes; a file that cannot be read gives the error instead."""
    return read_each(_read_draws, ((path, axes, to, None, points, normals) for path, axes in requests))


def draw_shape(
    raw: Mesh | Cloud,
    name: str | None = None,
    *,
    points: int = 2048,
    normals: Normals = "keep",
    seed: int = 0,
    normalise: bool = True,
) -> Draw:
    """Draw points from a checked mesh or cloud; the arguments are those of `read_shape`."""
    check_options(points, normals)
    if name is None:
        return _draw_by_content(raw, points, normals, seed, normalise)
    return _draw_by_name(raw, points, normals, _generator(name, seed), normalise)


@contextmanager
def named_errors(place: str) -> Iterator[None]:
    """Let a DataError begin with the place where it happened."""
    try:
        yield
    except DataError as error:
        raise DataError(str(error) if str(error).startswith(place) else f"{place}: {error}") from None


def check_options(points: int, normals: str) -> None:
    """Raise a ValueError if one of the options is invalid."""
    if not 1 <= points <= MOST_POINTS:
        raise ValueError(f"points: expected 1 to {MOST_POINTS}, got {points}")
    if normals not in ("keep", "estimate", "none"):
        raise ValueError(f"normals: expected 'keep', 'estimate' or 'none', got {normals!r}")


def check_size(path: Path, largest: int = LARGEST_FILE) -> None:
    """Raise a DataError unless `path` is a regular file, not empty and no larger than `largest` bytes."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise DataError(error.strerror or str(error)) from None
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would block forever
        raise DataError("not a regular file")
    if status.st_size == 0:
        raise DataError("empty file")
    if status.st_size > largest:
        raise DataError(f"file too large: expected at most {largest} bytes, got {status.st_size}")


def _read_raw(path: Path) -> Mesh | Cloud:
    with named_errors(printable(path)), only_data_errors(path):
        check_size(path)
        reader = READERS.get(path.suffix.lower())
        if reader is None:
            raise DataError(f"unknown format '{path.suffix}'; known formats: {' '.join(READERS)}")
        with np.errstate(over="ignore", invalid="ignore"):  # check_raw rejects infinities and NaN
            return check_raw(reader(path))


def _read_shape(
    path: Path, up: str | None, name: str | None, points: int, normals: Normals, seed: int, normalise: bool
) -> Shape:
    """Turn before the draw, as `predict` does: then a mesh gives the same points whichever axis is up in its file."""
    with open_raw(path) as raw, named_errors(printable(path)), only_data_errors(path):
        turned = _turned(raw, up, "z")
        return draw_shape(turned, name, points=points, normals=normals, seed=seed, normalise=normalise).shape


def _read_draws(
    path: Path, axes: Sequence[str | None], to: str, name: str | None, points: int, normals: Normals
) -> list[Draw]:
    with open_raw(path) as raw, named_errors(printable(path)), only_data_errors(path):
        return [draw_shape(_turned(raw, up, to), name, points=points, normals=normals) for up in axes]


@contextmanager
def open_raw(path: Path) -> Iterator[Mesh | Cloud]:
    """As `_read_raw`, but the points of a large cloud are in memory maps (large_clouds.py) that end with the block."""
    with ExitStack() as closing:
        with named_errors(printable(path)), only_data_errors(path):
            check_size(path, LARGEST_STREAMED)
            large = closing.enter_context(large_cloud(path))
        yield _read_raw(path) if large is None else large


def _turned(raw: Mesh | Cloud, up: str | None, to: str) -> Mesh | Cloud:
    if isinstance(raw, Cloud) and is_large(raw) and up is not None and up != to:
        return turned_cloud(raw, up, to)
    return turn_raw(raw, up, to)


@contextmanager
def only_data_errors(path: Path) -> Iterator[None]:
    """Turn whatever a damaged file raises into a DataError, so that the caller can go on to the next file."""
    try:
        yield
    except DataError:
        raise
    except OSError as error:
        raise DataError(reason_of(error)) from None
    except MemoryError:
        raise DataError(too_much_memory()) from None
    except Exception as error:
        raise DataError(
            f"damaged {path.suffix[1:].upper()} file ({type(error).__name__}: {str(error)[:200]})"
        ) from None


def check_raw(raw: Mesh | Cloud) -> Mesh | Cloud:
    """The same with coordinates in float64, or a DataError where a coordinate or a face is invalid."""
    kind = "vertices" if isinstance(raw, Mesh) else "points"
    check_need(POINT_BYTES * len(raw[0]), f"{len(raw[0]):,} {kind}")
    if isinstance(raw, Mesh):
        check_need(FACE_BYTES * len(raw.faces), f"{len(raw.faces):,} faces")
    vertices = check_coordinates(raw[0], kind)
    if isinstance(raw, Mesh):
        return Mesh(vertices, _check_faces(raw.faces, len(vertices)))
    return Cloud(vertices, raw.normals, raw.unused)


def _check_faces(faces: np.ndarray, vertex_count: int) -> np.ndarray:
    faces = np.asarray(faces)
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise DataError(f"faces: expected integers of shape (m, 3), got {faces.dtype} {faces.shape}")
    if faces.size and not 0 <= faces.min() <= faces.max() < vertex_count:
        raise DataError(f"faces: expected indices from 0 to {vertex_count - 1}, got {faces.min()} to {faces.max()}")
    return faces


def _generator(name: str, seed: int) -> np.random.Generator:
    digest = hashlib.blake2b(os.fsencode(name), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "little")])


def _draw_by_content(raw: Mesh | Cloud, count: int, wanted: Normals, seed: int, normalise: bool) -> Draw:
    """Draw points and normals, and do all arithmetic in an order that the content decides: equal to the last bit."""
    if isinstance(raw, Mesh):
        mesh, digest = canonical_mesh(raw)
        return _finish(
            *sample_surface(mesh, count, np.random.default_rng([seed, digest])), None, raw, wanted, normalise
        )
    estimates = wanted == "estimate" and raw.normals is None
    if is_large(raw):
        most = max(count, LARGEST_SEARCH) if estimates else count
        ordered, drawn = draw_large(raw, most, seed, wanted != "none")
        places = filled(drawn.points, count, drawn.normals, seed)
        normals = None if drawn.normals is None else drawn.normals[places]
        if estimates:
            normals = estimate_normals(drawn.points[places], drawn.points)
        return _finish(drawn.points[places], normals, ordered[places], raw, wanted, normalise)
    cloud = _checked_cloud(raw, wanted)
    ordered = drawn_rows(cloud.points, max(count, LARGEST_SEARCH) if estimates else count, cloud.normals, seed)
    own = None if cloud.normals is None else cloud.normals[ordered]
    rows = ordered[filled(cloud.points[ordered], count, own, seed)]
    points = cloud.points[rows]
    normals = None if cloud.normals is None else cloud.normals[rows]
    if estimates:
        normals = estimate_normals(points, cloud.points[ordered])
    return _finish(points, normals, rows, raw, wanted, normalise)


def _draw_by_name(
    raw: Mesh | Cloud, count: int, wanted: Normals, generator: np.random.Generator, normalise: bool
) -> Draw:
    """Draw points and normals by a generator: which ones come out depends on their order."""
    if isinstance(raw, Mesh):
        return _finish(*sample_surface(raw, count, generator), None, raw, wanted, normalise)
    cloud = _checked_cloud(raw, wanted)
    rows = _resample(len(cloud.points), count, generator)
    points = cloud.points[rows]
    normals = None if cloud.normals is None else cloud.normals[rows]
    if wanted == "estimate" and normals is None:
        normals = estimate_normals(points, cloud.points, generator)
    return _finish(points, normals, rows, raw, wanted, normalise)


def _checked_cloud(raw: Cloud, wanted: Normals) -> Cloud:
    """The cloud with unit normals, if they are wanted; a DataError if its points coincide."""
    points = raw.points
    if (points == points[0]).all():
        found = "1 point" if len(points) == 1 else f"{len(points)} equal points"
        raise DataError(f"points: expected at least 2 different points, got {found}")
    if raw.normals is None or wanted == "none":
        return Cloud(points)
    return Cloud(points, _checked_normals(raw.normals, len(points)))


def _finish(
    points: np.ndarray,
    normals: np.ndarray | None,
    rows: np.ndarray | None,
    raw: Mesh | Cloud,
    wanted: Normals,
    normalise: bool,
) -> Draw:
    """The drawn points as a shape. We compute in float64, because float32 is too coarse for map coordinates."""
    if wanted == "none":
        normals = None
    distinct = len(points)
    if isinstance(raw, Cloud):  # a file may repeat points itself, to have as many as somebody expects
        order, distinct = distinct_first(points, None if raw.normals is None else normals)
        points, normals = points[order], None if normals is None else normals[order]
        rows = None if rows is None else rows[order]
    seen = to_unit_sphere(points) if normalise else points
    shape = Shape(
        seen.astype(np.float32),
        None if normals is None else normals.astype(np.float32),
        isinstance(raw, Mesh),
        distinct,
        "" if isinstance(raw, Mesh) else raw.unused,
        isinstance(raw, Cloud) and raw.normals is None and normals is not None,
    )
    return Draw(shape, points, rows)


def _resample(available: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """Indices of `count` points: a random subset, or every point once and then random repetitions."""
    if available >= count:
        return generator.choice(available, count, replace=False)
    return np.concatenate([np.arange(available), generator.integers(0, available, count - available)])


def _checked_normals(normals: np.ndarray, count: int) -> np.ndarray:
    normals = check_coordinates(normals, "normals")
    if len(normals) != count:
        raise DataError(f"normals: expected one per point ({count}), got {len(normals)}")
    return unit_vectors(normals)
