"""ShapeNet-55 as published by Point-BERT: one .npy file with 8,192 points per shape, and lists of names. No normals.

shapenet_pc/{synset}-{id}.npy        ShapeNet-55/train.txt, ShapeNet-55/test.txt (41,952 and 10,518 names)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ...support.printable import printable
from ..clouds import LabelledCloud, expect_files, pack_clouds
from ..errors import DataError
from ..formats.npz import read_array
from ..name_lists import read_words
from ..pack import Pack

SYNSETS = {
    "02691156": "airplane",
    "02747177": "trash bin",
    "02773838": "bag",
    "02801938": "basket",
    "02808440": "bathtub",
    "02818832": "bed",
    "02828884": "bench",
    "02843684": "birdhouse",
    "02871439": "bookshelf",
    "02876657": "bottle",
    "02880940": "bowl",
    "02924116": "bus",
    "02933112": "cabinet",
    "02942699": "camera",
    "02946921": "can",
    "02954340": "cap",
    "02958343": "car",
    "02992529": "cellphone",
    "03001627": "chair",
    "03046257": "clock",
    "03085013": "keyboard",
    "03207941": "dishwasher",
    "03211117": "display",
    "03261776": "earphone",
    "03325088": "faucet",
    "03337140": "file cabinet",
    "03467517": "guitar",
    "03513137": "helmet",
    "03593526": "jar",
    "03624134": "knife",
    "03636649": "lamp",
    "03642806": "laptop",
    "03691459": "loudspeaker",
    "03710193": "mailbox",
    "03759954": "microphone",
    "03761084": "microwave",
    "03790512": "motorbike",
    "03797390": "mug",
    "03928116": "piano",
    "03938244": "pillow",
    "03948459": "pistol",
    "03991062": "flowerpot",
    "04004475": "printer",
    "04074963": "remote",
    "04090263": "rifle",
    "04099429": "rocket",
    "04225987": "skateboard",
    "04256520": "sofa",
    "04330267": "stove",
    "04379243": "table",
    "04401088": "telephone",
    "04460130": "tower",
    "04468005": "train",
    "04530566": "watercraft",
    "04554684": "washer",
}
CLASSES = tuple(SYNSETS.values())


def load(
    root: str | Path,
    split: str,
    *,
    whole: bool = False,
    points: int | None = None,
    seed: int = 0,
    normalise: bool = True,
) -> Pack:
    """Load one list of shapes. With `whole`, the split 'train' is both lists, which is what Point-BERT trains on.

    The full 8,192 points of all shapes take 2.6 GB; `points` keeps that many random points per shape.
    """
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    lists = ["train", "test"] if whole and split == "train" else [split]
    folder = _find(Path(root), lists)
    files, labels = _listed(folder, lists)
    return pack_clouds(
        _read(files, labels), len(files), CLASSES, printable(folder), points=points, seed=seed, normalise=normalise
    )


def _find(root: Path, lists: list[str]) -> Path:
    for folder in (root, root / "ShapeNet55-34"):
        if (folder / "shapenet_pc").is_dir() and all(
            (folder / "ShapeNet-55" / f"{name}.txt").is_file() for name in lists
        ):
            return folder
    wanted = " and ".join(f"ShapeNet-55/{name}.txt" for name in lists)
    raise DataError(
        f"{printable(root)}: no ShapeNet-55 here; expected the folder shapenet_pc and {wanted} from the archive "
        "ShapeNet55-34, which the Point-BERT project links under the terms of ShapeNet"
    )


def _listed(folder: Path, lists: list[str]) -> tuple[list[Path], list[int]]:
    """The files in the lists, and their labels."""
    index = {synset: label for label, synset in enumerate(SYNSETS)}
    files, labels = [], []
    for name in lists:
        path = folder / "ShapeNet-55" / f"{name}.txt"
        for number, line in enumerate(read_words(path), start=1):
            synset = line.partition("-")[0]
            if synset not in index or not line.endswith(".npy") or Path(line).name != line:
                raise DataError(f"{printable(path)}: entry {number}: expected {{synset}}-{{id}}.npy, got {line[:80]!r}")
            files.append(folder / "shapenet_pc" / line)
            labels.append(index[synset])
    expect_files(folder, files)
    return files, labels


def _read(files: list[Path], labels: list[int]) -> Iterator[LabelledCloud]:
    for file, label in zip(files, labels, strict=True):
        points = read_array(file)
        if points.ndim != 2 or points.shape[1] < 3 or points.dtype.kind != "f":
            raise DataError(f"{printable(file)}: expected floats of shape (n, 3), got {points.dtype} {points.shape}")
        yield LabelledCloud(points[:, :3], label, file.stem)
