"""Make the data set `brick-parts` that ships with the package from the whole of it.

    python -m sampled_transformer_lab.brick_parts WHOLE src/sampled_transformer/data/brick_parts_pack

Of the training parts we keep all with a share of a rare class, so that every class is learnt from dozens of parts, and
random others. Of the test parts we keep a random half. Of each part we keep 1,024 random points.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from sampled_transformer.data import DataError, Pack, read_pack
from sampled_transformer.data.clouds import take_points
from sampled_transformer.data.plane_codes import encode
from sampled_transformer.support.atomic import atomic_write

PARTS = {"train": 420, "test": 323}  # the wheel has no room for more
POINTS = 1024
RARE = ("pin", "axle", "clip", "hinge", "tooth")  # each has less than 1.1 % of the points
SHARE = 0.02  # of a part's points that makes it a part with that class
SEED = 0


def choose(pack: Pack, parts: int, seed: int = SEED, preferred: Sequence[str] = RARE) -> np.ndarray:
    """The numbers of the parts to keep, in their order: parts with a preferred class first, then random ones."""
    if pack.point_labels is None:
        raise DataError("pack: expected point_labels, got none")
    rare = np.zeros(len(pack), bool)
    for name in preferred:
        rare |= (pack.point_labels == pack.point_classes.index(name)).mean(1) >= SHARE
    order = np.random.default_rng(seed).permutation(len(pack))
    return np.sort(np.concatenate([order[rare[order]], order[~rare[order]]])[:parts])


def write_coded(pack: Pack, path: str | Path) -> None:
    """Write a pack with normals and labels of points as `brick_parts.read_coded` reads it; their order is lost."""
    if pack.normals is None or pack.point_labels is None or pack.names is None or pack.ptr is not None:
        raise DataError("pack: expected normals, point_labels and names, and sets of equal size")
    coded = encode(pack.points, pack.normals)
    arrays = {
        "points": coded.points,
        "normals": coded.normals,
        "point_labels": np.take_along_axis(pack.arrays()["point_labels"], coded.order, 1),
        "point_classes": np.array(pack.point_classes),
        "names": pack.names,
    }
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    # Packs are written quickly; this file is written once and shipped often, so it is compressed as far as it goes.
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def make(whole: str | Path, target: str | Path, parts: Mapping[str, int] = PARTS, points: int = POINTS) -> None:
    """Write train.npz and test.npz to the folder `target`, from packs of the same names in the folder `whole`."""
    for split in ("train", "test"):
        pack = read_pack(whole, split)
        chosen = choose(pack, parts[split], preferred=RARE if split == "train" else ())
        write_coded(take_points(pack.select(chosen), points, SEED), Path(target, f"{split}.npz"))


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2])
