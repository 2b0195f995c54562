"""Write a scene to a file that other programs read: binary PLY, or a pack of one scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..support.atomic import atomic_write
from ..support.printable import printable
from .errors import DataError
from .pack import write_pack
from .scene_clouds import SceneCloud, pack_scenes
from .sources.brick_scenes import Scene

ENDINGS = (".ply", ".npz")
_COLUMNS = ("x", "y", "z", "nx", "ny", "nz")


def write_scene(scene: Scene, path: str | Path) -> None:
    """Write a scene as .ply (x y z nx ny nz label, with the names of the classes as comments) or .npz (a pack)."""
    path = Path(path)
    if path.suffix.lower() not in ENDINGS:
        raise DataError(f"path: expected a file name ending in {' or '.join(ENDINGS)}, got {printable(path)}")
    if path.suffix.lower() == ".npz":
        cloud = SceneCloud(scene.points, path.stem, scene.labels, scene.normals)
        return write_pack(pack_scenes([cloud], scene.classes, printable(path), up="z"), path)
    rows = np.empty(len(scene.points), [(name, "<f4") for name in _COLUMNS] + [("label", "<i2")])
    for number, name in enumerate("xyz"):
        rows[name], rows[f"n{name}"] = scene.points[:, number], scene.normals[:, number]
    rows["label"] = scene.labels
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(_header(scene).encode("ascii", "replace"))
            file.write(rows.data)
    except OSError as error:
        raise DataError(f"{printable(path)}: cannot write ({error.strerror or error})") from None


def _header(scene: Scene) -> str:
    classes = [f"comment class {number} {name}" for number, name in enumerate(scene.classes)]
    columns = [f"property float {name}" for name in _COLUMNS]
    size = f"element vertex {len(scene.points)}"
    lines = ["ply", "format binary_little_endian 1.0", *classes, size, *columns, "property short label", "end_header"]
    return "\n".join(lines) + "\n"
