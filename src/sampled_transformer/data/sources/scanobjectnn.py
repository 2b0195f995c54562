"""ScanObjectNN, scans of real objects in 15 classes, from its public h5 files (Uy et al., ICCV 2019). Up is y.

2,048 points without normals. The public protocol neither centres nor scales them; a pack lies in the unit sphere, so
they are normalised here unless `normalise=False`, which is refused when coordinates leave [-1, 1].
"""

from __future__ import annotations

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
#: OBJ-BG, OBJ-ONLY and PB-T50-RS: folder and end of the file name.
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
    """One split of a variant; `root` is the folder that holds main_split, or the one above (`h5_files`)."""
    path = _find(root, split, variant)
    clouds = read_hdf5(path, len(CLASSES))
    rows = enumerate(zip(clouds.points, clouds.labels.tolist(), strict=True))
    stream = (LabelledCloud(values, label, f"{path.stem}_{number:05d}") for number, (values, label) in rows)
    where = printable(path)
    return pack_clouds(stream, len(clouds.points), CLASSES, where, points=points, seed=seed, normalise=normalise)


def _find(root: str | Path, split: str, variant: str) -> Path:
    if variant not in VARIANTS:
        raise DataError(f"variant: expected {', '.join(VARIANTS)}, got {variant!r}")
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    folder, name = VARIANTS[variant]
    relative = Path(folder) / f"{'training' if split == 'train' else 'test'}_{name}.h5"
    for base in ("", "h5_files", "ScanObjectNN"):
        if (path := Path(root) / base / relative).is_file():
            return path
    raise DataError(
        f"{printable(root)}: no ScanObjectNN ({variant}) here, looked for {relative}; its h5_files.zip is on the "
        "project page of ScanObjectNN (hkust-vgd), after agreeing to its terms"
    )
