"""Brick parts: LDraw parts whose points say which primitive drew them: stud, tube, hole and so on. Up is z.

1,024 points of 323 of the 646 test parts and of 420 of the 2,556 training parts ship with the package. They are
from the LDraw.org Parts Library, CC BY 4.0; see the data card in brick_parts_pack/README.md.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from ...support.printable import printable
from ..clouds import take_points
from ..errors import DataError
from ..formats.npz import read_arrays
from ..pack import Pack, read_pack
from ..plane_codes import decode

ARRAYS = ("points", "normals", "point_labels", "point_classes", "names")


def load(root: str | Path | None = None, split: str = "train", *, points: int | None = None, seed: int = 0) -> Pack:
    """Load the part in the package, or the whole from a folder of packs. `points` keeps that many of the points."""
    if root is not None:
        whole = read_pack(root, split)
        return take_points(replace(whole, up=whole.up or "z"), points, seed)
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    with as_file(files("sampled_transformer.data") / "brick_parts_pack" / f"{split}.npz") as path:
        return take_points(read_coded(path), points, seed)


def read_coded(path: str | Path) -> Pack:
    """Read a file with points and normals coded as in plane_codes.py."""
    arrays = read_arrays(path)
    missing = [name for name in ARRAYS if name not in arrays]
    if missing:
        raise DataError(f"{printable(path)}: expected arrays {', '.join(ARRAYS)}, got none called {missing[0]}")
    try:
        points, normals = decode(arrays["points"], arrays["normals"])
        pack = Pack(
            points=points,
            normals=normals,
            names=arrays["names"],
            point_labels=arrays["point_labels"],
            point_classes=tuple(map(str, arrays["point_classes"])),
            up="z",
        )
    except DataError as error:
        raise DataError(f"{printable(path)}: {error}") from None
    # Coded points are sorted. Shuffled, the first ones of each part are random ones, whoever takes them.
    rows = np.tile(np.arange(pack.points.shape[1]), (len(pack), 1))
    return pack.keep_points(np.random.default_rng(0).permuted(rows, axis=1))
