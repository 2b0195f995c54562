"""Data sets as packs: the sources by name, and one function that loads any of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from ..support.printable import printable
from .errors import DataError
from .pack import Batch, Pack, read_pack, write_pack

__all__ = [
    "SOURCES",
    "SPLITS",
    "Batch",
    "DataError",
    "Pack",
    "Source",
    "list_sources",
    "load_data",
    "read_pack",
    "write_pack",
]

SPLITS = ("train", "test", "val")


@dataclass(frozen=True)
class Source:
    """A data set by name. Its module has `load(root, split, **options) -> Pack` and is imported when first used."""

    module: str
    description: str
    needs_root: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self, root: str | Path | None, split: str, **options: Any) -> Pack:
        function = import_module(f"sampled_transformer.data.sources.{self.module}").load
        options = {**self.options, **options}
        try:
            signature(function).bind(root, split, **options)
        except TypeError as error:
            raise DataError(f"{self.module}: {error}") from None
        return function(root, split, **options)


SOURCES: dict[str, Source] = {
    "bricks": Source("bricks", "18 categories of LDraw parts, 512 points with normals; ships with the package", False),
    "modelnet40": Source("modelnet", "ModelNet40: HDF5, resampled text, or meshes", options={"variant": "modelnet40"}),
    "modelnet10": Source("modelnet", "ModelNet10: in the same forms", options={"variant": "modelnet10"}),
    "scanobjectnn": Source("scanobjectnn", "ScanObjectNN: h5 files of OBJ-BG, OBJ-ONLY and PB-T50-RS"),
    **{
        f"scanobjectnn-{variant}": Source(
            "scanobjectnn", f"{title} alone, not scaled", options={"variant": variant, "normalise": False}
        )
        for variant, title in {"objbg": "OBJ-BG", "objonly": "OBJ-ONLY", "pbt50rs": "PB-T50-RS"}.items()
    },
    "shapenet": Source("shapenet", "ShapeNet-55: .npy clouds with the public list files"),
    "folder": Source("folder", "your own files, class/file: meshes, clouds, text, arrays"),
}


def list_sources() -> list[str]:
    """The names that `load_data` knows."""
    return sorted(SOURCES)


def load_data(source: str | Path, split: str = "train", root: str | Path | None = None, **options: Any) -> Pack:
    """Load one split of a registered source, of a pack (a folder or an .npz) or of a folder of shapes.

    All of them take `points` (so many of each shape, at random) and `seed`; the others are those of the source's
    `load`.
    """
    if str(source) in SOURCES:
        entry = SOURCES[str(source)]
        if root is None and entry.needs_root:
            raise DataError(f"{source}: expected the folder that holds the data, root= or --root")
        return entry.load(root, split, **options)
    path = Path(source)
    if not path.exists():
        known = ", ".join(list_sources())
        raise DataError(f"{printable(path)}: neither a file or folder nor the name of a source ({known})")
    if path.is_file() or any((path / f"{name}.npz").is_file() for name in SPLITS):
        return _load_pack(path, split, **options)
    return SOURCES["folder"].load(path, split, **options)


def _load_pack(path: Path, split: str, *, points: int | None = None, seed: int = 0) -> Pack:
    from .clouds import take_points

    # A file that is not called after a split holds all there is, and that is what one trains on.
    own_name = path.is_file() and split == "train" and path.stem not in SPLITS
    return take_points(read_pack(path, None if own_name else split), points, seed)
