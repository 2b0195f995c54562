"""One file of any known format as points: `read_shape`.

Meshes are sampled by area and take the normals of their faces. Clouds are cut down to the wanted number at random, or
filled up with points drawn again. No axis is turned: up stays what it is in the file.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from ..support.printable import printable
from .errors import DataError
from .formats.las import read_las
from .formats.meshes import Mesh, read_off, sample_surface
from .formats.ply import read_ply
from .formats.point_files import Cloud, read_npy, read_npz, read_pcd, read_text
from .formats.scenes import read_gltf, read_obj, read_stl
from .normals import estimate_normals
from .quantise import check_coordinates, to_unit_sphere

LARGEST_FILE = 2**31  # bytes; files are read whole
MOST_POINTS = 10_000_000

Normals = Literal["keep", "estimate", "none"]


class Shape(NamedTuple):
    """Points (n, 3) and unit normals (n, 3) or None, both float32."""

    points: np.ndarray
    normals: np.ndarray | None
    from_mesh: bool
    distinct: int  # how many of the points come first before some of them are repeated; all of them from a mesh


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
) -> Shape:
    """Read one file as `points` points.

    Args:
        path: a file whose ending is one of READERS.
        points: how many points to draw from a mesh or a cloud.
        normals: "keep" those of the file or its faces, also "estimate" them where there are none, or "none".
        seed: with `name` it decides the draw, so one file gives the same points in any order and any process.
        name: what the draw depends on instead of the file's name, for files of one name in several folders.
        normalise: centre the points on their mean and divide by the largest norm.
    """
    check_options(points, normals)
    path = Path(path)
    try:
        check_size(path)
        raw = _read_raw(path)
        return _draw(raw, points, normals, _generator(name or path.name, seed), normalise)
    except DataError as error:
        place = printable(path)
        raise DataError(str(error) if str(error).startswith(place) else f"{place}: {error}") from None


def check_options(points: int, normals: str) -> None:
    """A ValueError that names the option which cannot be."""
    if not 1 <= points <= MOST_POINTS:
        raise ValueError(f"points: expected 1 to {MOST_POINTS}, got {points}")
    if normals not in ("keep", "estimate", "none"):
        raise ValueError(f"normals: expected 'keep', 'estimate' or 'none', got {normals!r}")


def check_size(path: Path) -> None:
    """A regular file that is neither empty nor larger than LARGEST_FILE."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise DataError(error.strerror or str(error)) from None
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
        raise DataError("not a regular file")
    if status.st_size == 0:
        raise DataError("empty file")
    if status.st_size > LARGEST_FILE:
        raise DataError(f"{status.st_size} bytes; the limit is {LARGEST_FILE}")


def _read_raw(path: Path) -> Mesh | Cloud:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"unknown format '{path.suffix}' (known: {' '.join(READERS)})")
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # what that leads to is refused below
            raw = reader(path)
        vertices = check_coordinates(raw[0], "vertices" if isinstance(raw, Mesh) else "points")
        if isinstance(raw, Mesh):
            return Mesh(vertices, _check_faces(raw.faces, len(vertices)))
        return Cloud(vertices, raw.normals)
    except DataError:
        raise
    except OSError as error:
        raise DataError(error.strerror or str(error)) from None
    except MemoryError:
        raise DataError("it needs more memory than there is") from None
    except Exception as error:  # a damaged file can make any reader raise anything; the next file must still be read
        raise DataError(
            f"damaged {path.suffix[1:].upper()} file ({type(error).__name__}: {str(error)[:200]})"
        ) from None


def _check_faces(faces: np.ndarray, vertex_count: int) -> np.ndarray:
    faces = np.asarray(faces)
    if faces.ndim != 2 or faces.shape[1] != 3 or faces.dtype.kind not in "iu":
        raise DataError(f"faces: expected whole numbers of shape (m, 3), got {faces.dtype} {faces.shape}")
    if faces.size and not 0 <= faces.min() <= faces.max() < vertex_count:
        raise DataError(f"faces name vertices {faces.min()} to {faces.max()}, but there are {vertex_count} vertices")
    return faces


def _generator(name: str, seed: int) -> np.random.Generator:
    digest = hashlib.blake2b(os.fsencode(name), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "little")])


def _draw(raw: Mesh | Cloud, count: int, wanted: Normals, generator: np.random.Generator, normalise: bool) -> Shape:
    """Points and normals for the pack. All arithmetic is float64: map coordinates do not survive float32."""
    normals: np.ndarray | None
    if isinstance(raw, Mesh):
        points, normals = sample_surface(raw, count, generator)
    else:
        cloud, own_normals = raw
        if (cloud == cloud[0]).all():
            raise DataError("one point is no shape" if len(cloud) == 1 else f"all {len(cloud)} points coincide")
        index = _resample(len(cloud), count, generator)
        points, normals = cloud[index], None
        if own_normals is not None and wanted != "none":
            normals = _unit(own_normals, len(cloud))[index]
        elif wanted == "estimate":
            normals = estimate_normals(points, cloud, generator)
    if wanted == "none":
        normals = None
    if normalise:
        points = to_unit_sphere(points)
    return Shape(
        points.astype(np.float32),
        None if normals is None else normals.astype(np.float32),
        isinstance(raw, Mesh),
        count if isinstance(raw, Mesh) else min(count, len(raw.points)),
    )


def _resample(available: int, count: int, generator: np.random.Generator) -> np.ndarray:
    """Indices of `count` of the points: a random subset, or all of them and some again."""
    if available >= count:
        return generator.choice(available, count, replace=False)
    return np.concatenate([np.arange(available), generator.integers(0, available, count - available)])


def _unit(normals: np.ndarray, count: int) -> np.ndarray:
    normals = check_coordinates(normals, "normals")
    if len(normals) != count:
        raise DataError(f"{len(normals)} normals for {count} points")
    lengths = np.sqrt(np.square(normals).sum(1, keepdims=True))
    return np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0)
