"""ScanObjectNN (Uy et al., ICCV 2019): scans of real objects in 15 classes, from the published h5 files. Up is y.

Each shape has 2,048 points and no normals. The published protocol neither centres nor scales them. A pack lies in the
unit sphere, so we normalise by default; `normalise=False` works if all coordinates are in [-1, 1].
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ...support.printable import printable
from ..clouds import LabelledCloud, pack_clouds
from ..errors import DataError
from ..formats.hdf5 import read_hdf5
from ..pack import Pack

# fmt: off
CLASSES = (
    "bag", "bin", "box", "cabinet", "chair", "desk", "display", "door", "shelf", "table", "bed", "pillow", "sink",
    "sofa", "toilet",
)
# fmt: on
#: OBJ-BG, OBJ-ONLY and PB-T50-RS: folder and second half of the file name.
VARIANTS = {
    "objbg": ("main_split", "objectdataset"),
    "objonly": ("main_split_nobg", "objectdataset"),
    "pbt50rs": ("main_split", "objectdataset_augmentedrot_scale75"),
}


def load(
    root: str | Path,
    split: str,
    *,
    variant: str = "pbt50rs",
    points: int | None = None,
    seed: int = 0,
    normalise: bool = True,
) -> Pack:
    """Load one split of a variant. `root` is the folder that contains main_split, or the folder above it."""
    path = _find(root, split, variant)
    clouds = read_hdf5(path, len(CLASSES))
    rows = enumerate(zip(clouds.points, clouds.labels.tolist(), strict=True))
    stream = (LabelledCloud(values, label, f"{path.stem}_{number:05d}") for number, (values, label) in rows)
    where = printable(path)
    pack = pack_clouds(stream, len(clouds.points), CLASSES, where, points=points, seed=seed, normalise=normalise)
    return replace(pack, up="y")


def _find(root: str | Path, split: str, variant: str) -> Path:
    if variant not in VARIANTS:
        raise DataError(f"variant: expected one of {', '.join(VARIANTS)}, got {variant!r}")
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    folder, name = VARIANTS[variant]
    relative = Path(folder) / f"{'training' if split == 'train' else 'test'}_{name}.h5"
    for base in ("", "h5_files", "ScanObjectNN"):
        if (path := Path(root) / base / relative).is_file():
            return path
    raise DataError(
        f"{printable(root)}: no ScanObjectNN ({variant}) here; expected {relative} from h5_files.zip, which the "
        "project page of ScanObjectNN (hkust-vgd) offers under its terms of use"
    )
