"""LDraw parts in 18 categories, 1,656 to train on and 408 to test on; the one data set that ships with the package.

From the LDraw.org Parts Library, CC BY 4.0; the data card is bricks_pack/README.md. Up is -y, as LDraw has it.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from ..clouds import take_points
from ..errors import DataError
from ..pack import Pack, read_pack


def load(root: str | Path | None = None, split: str = "train", *, points: int | None = None, seed: int = 0) -> Pack:
    """The embedded pack, or one of the same form in the folder `root`; `points` takes that many of 512 at random."""
    if root is not None:
        return take_points(read_pack(root, split), points, seed)
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    with as_file(files("sampled_transformer.data") / "bricks_pack" / f"{split}.npz") as path:
        return take_points(read_pack(path), points, seed)
