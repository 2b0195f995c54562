"""Which axis of a shape points up, and turning shapes so that another one does.

glTF prescribes y up. Other formats prescribe nothing; we take z for up unless we are told otherwise. A turn permutes
the axes and changes signs, so it is exact.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from .formats.meshes import Mesh
from .formats.point_files import Cloud
from .pack import Pack

Axis = Literal["z", "y", "x", "-z", "-y", "-x"]
AXES: tuple[Axis, ...] = ("z", "y", "x", "-z", "-y", "-x")  # where several do equally well, the first is taken
STANDARD = {".glb": "y", ".gltf": "y"}  # formats that prescribe an axis
# Which axis, with its sign, becomes x, y and z when the key becomes z; every turn is a rotation.
_TO_Z = {
    "z": ("x", "y", "z"),
    "y": ("x", "-z", "y"),
    "-y": ("x", "z", "-y"),
    "x": ("-z", "y", "x"),
    "-x": ("z", "y", "-x"),
    "-z": ("x", "-y", "-z"),
}


def check_up(up: str | None, *, auto: bool = False) -> None:
    """Refuse what is no axis; "auto" is one only where something can choose."""
    known = (*AXES, "auto") if auto else AXES
    if up is not None and up not in known:
        raise ValueError(f"up: expected one of {', '.join(known)}, got {up!r}")


def standard_up(path: str | Path) -> str | None:
    """The axis that the format of a file prescribes as up, None where it prescribes none."""
    return STANDARD.get(Path(path).suffix.lower())


def rotation(up: str, to: str = "z") -> np.ndarray:
    """The rotation R, (3, 3) of 0, 1 and -1, with R e_up = e_to: p becomes R p."""
    matrix: np.ndarray = _to_z(to).T @ _to_z(up)
    return matrix


def turn(values: np.ndarray, up: str, to: str = "z") -> np.ndarray:
    """Vectors (..., 3) of any type, turned so that `up` becomes `to`."""
    matrix = rotation(up, to)
    order = np.abs(matrix).argmax(1)
    turned: np.ndarray = values[..., order] * matrix[np.arange(3), order].astype(values.dtype)
    return turned


def turn_raw(raw: Mesh | Cloud, up: str | None, to: str = "z") -> Mesh | Cloud:
    """A mesh or a cloud with its normals, turned so that `up` becomes `to`; with None, as it is."""
    if up is None or up == to:
        return raw
    if isinstance(raw, Mesh):
        return Mesh(turn(raw.vertices, up, to), raw.faces)
    normals = None if raw.normals is None else turn(np.asarray(raw.normals), up, to)
    return Cloud(turn(raw.points, up, to), normals, raw.unused)


def turn_pack(pack: Pack, up: str | None, to: str = "z") -> Pack:
    """A pack with its normals and centres, turned so that `up` becomes `to`; with None, as it is."""
    if up is None:
        return pack
    if up == to:
        return replace(pack, up=to)
    normals = None if pack.normals is None else turn(pack.normals, up, to)
    centre = None if pack.centre is None else turn(pack.centre, up, to)
    return replace(pack, points=turn(pack.points, up, to), normals=normals, centre=centre, up=to)


def _to_z(up: str) -> np.ndarray:
    matrix = np.zeros((3, 3), np.int64)
    for row, axis in enumerate(_TO_Z[up]):
        matrix[row, "xyz".index(axis[-1])] = -1 if axis.startswith("-") else 1
    return matrix
