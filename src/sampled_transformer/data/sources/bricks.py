"""Bricks: LDraw parts in 18 categories, 1,656 for training and 408 for testing. It ships with the package.

The parts are from the LDraw.org Parts Library, CC BY 4.0; see the data card in bricks_pack/README.md. As in LDraw,
up is -y.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from ..clouds import take_points
from ..errors import DataError
from ..pack import Pack, read_pack


def load(root: str | Path | None = None, split: str = "train", *, points: int | None = None, seed: int = 0) -> Pack:
    """Load the pack in the package, or a pack in the folder `root`. `points` keeps that many of the 512 points."""
    if root is not None:
        return take_points(read_pack(root, split), points, seed)
    if split not in ("train", "test"):
        raise DataError(f"split: expected 'train' or 'test', got {split!r}")
    with as_file(files("sampled_transformer.data") / "bricks_pack" / f"{split}.npz") as path:
        return replace(take_points(read_pack(path), points, seed), up="-y")
