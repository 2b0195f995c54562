"""SemanticKITTI scans: NAME.bin with x, y, z and remission, and NAME.label with one number per point beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import DataError

INSTANCE_BITS = 16  # the upper half of a label is the number of the object, the lower half is the class


def kitti_fields(path: Path) -> dict[str, np.ndarray]:
    """Read the points, the remission, and the labels if there is a file with them."""
    data = path.read_bytes()
    if len(data) % 16:
        raise DataError(f"expected 16 bytes per point (x, y, z, remission as float32), got {len(data)} bytes")
    table = np.frombuffer(data, "<f4").reshape(-1, 4)
    fields = {name: table[:, place] for place, name in enumerate(("x", "y", "z", "remission"))}
    file = label_file(path)
    if file is not None:
        if file.stat().st_size != 4 * len(table):
            raise DataError(f"{file.name}: expected 4 bytes per point ({4 * len(table)}), got {file.stat().st_size}")
        fields["label"] = np.fromfile(file, "<u4") & (2**INSTANCE_BITS - 1)
    return fields


def label_file(path: Path) -> Path | None:
    """The file with the labels of a scan: in the folder `labels` beside it or beside its folder, or right beside it."""
    name = f"{path.stem}.label"
    places = (path.parent / "labels" / name, path.parent.parent / "labels" / name, path.parent / name)
    return next((place for place in places if place.is_file()), None)
