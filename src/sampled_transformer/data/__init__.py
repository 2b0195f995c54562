"""Data sets as packs: `SOURCES` lists the data sets by name, `load_data` loads any of them.

One data set per file in sources/, one file format per file in formats/; pack.py is the format we store data in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from ..support.printable import printable
from ..support.registry import did_you_mean
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
    """A data set by name. Its module in sources/ defines `load(root, split, **options) -> Pack`; we import it late."""

    module: str
    description: str
    needs_root: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)

    def load(self, root: str | Path | None, split: str, **options: Any) -> Pack:
        function = import_module(f"sampled_transformer.data.sources.{self.module}").load
        options = {**self.options, **options}
        known = [name for name in signature(function).parameters if name not in ("root", "split")]
        unknown = [name for name in options if name not in known]
        if unknown:
            raise DataError(f"options: expected {', '.join(known)} for {self.module}, got {unknown[0]!r}")
        for name, value in options.items():
            _check_kind(name, str(signature(function).parameters[name].annotation), value)
        pack: Pack = function(root, split, **options)
        return pack


def _check_kind(name: str, annotation: str, value: Any) -> None:
    """Refuse an option of another type than its reader states, where it states a plain one: the program passes text."""
    kinds = {"int": Integral, "float": Real, "bool": bool, "str": str, "None": type(None)}
    allowed = annotation.split(" | ")
    if any(kind not in kinds for kind in allowed):
        return
    fits = isinstance(value, tuple(kinds[kind] for kind in allowed))
    if not fits or (isinstance(value, bool) and "bool" not in allowed):
        words = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
        raise DataError(f"{name}: expected {words[allowed[0]]}, got {value!r}")


SOURCES: dict[str, Source] = {
    "bricks": Source("bricks", "18 categories of LDraw parts, 512 points with normals; ships with the package", False),
    "brick-parts": Source(
        "brick_parts", "LDraw parts, 1,024 points in 10 classes such as stud and hole; ships with the package", False
    ),
    "brick-scenes": Source(
        "brick_scenes", "scenes of LDraw parts with a class per point, of any size; made anew from a seed", False
    ),
    "radar": Source("radar", "5 activities of people, 50 to 256 radar returns; ships with the package", False),
    "modelnet40": Source("modelnet", "ModelNet40: HDF5, resampled text, or meshes", options={"variant": "modelnet40"}),
    "modelnet10": Source("modelnet", "ModelNet10: HDF5, resampled text, or meshes", options={"variant": "modelnet10"}),
    "scanobjectnn": Source("scanobjectnn", "ScanObjectNN: the h5 files of OBJ-BG, OBJ-ONLY and PB-T50-RS"),
    **{
        f"scanobjectnn-{variant}": Source(
            "scanobjectnn", f"ScanObjectNN: {title}, not scaled", options={"variant": variant, "normalise": False}
        )
        for variant, title in {"objbg": "OBJ-BG", "objonly": "OBJ-ONLY", "pbt50rs": "PB-T50-RS"}.items()
    },
    "shapenet": Source("shapenet", "ShapeNet-55: .npy clouds with the published file lists"),
    "shapenetpart": Source("shapenetpart", "ShapeNetPart: 16 categories, every point one of 50 parts"),
    "s3dis": Source("s3dis", "S3DIS: rooms in metres with colours, every point one of 13 classes"),
    "semantickitti": Source("semantickitti", "SemanticKITTI: lidar scans in metres, every point one of 19 classes"),
    "scans": Source("scans", "your own labelled scans: LAS, PLY, PCD, text or arrays with a class per point"),
    "folder": Source("folder", "your own files, one folder per class: meshes, clouds, text, arrays"),
}


def list_sources() -> list[str]:
    """The names that `load_data` knows."""
    return sorted(SOURCES)


def load_data(source: str | Path, split: str = "train", root: str | Path | None = None, **options: Any) -> Pack:
    """Load one split of a named data set, a pack (a folder or an .npz file) or a folder of shapes.

    Every kind of data takes `points` (keep this many random points per shape) and `seed`. Further options are passed
    to the data set's own `load`.
    """
    if str(source) in SOURCES:
        entry = SOURCES[str(source)]
        if root is None and entry.needs_root:
            raise DataError(f"root: expected the folder that holds the data set {source}, got none")
        return entry.load(root, split, **options)
    path = Path(source)
    if not path.exists():
        known, hint = ", ".join(list_sources()), did_you_mean(str(source), list_sources())
        raise DataError(f"{printable(path)}: no such file, folder or data set ({known}){hint}")
    if path.is_file() and path.suffix.lower() != ".npz":
        got = printable(path.suffix or "no suffix")
        expected = "a folder of shapes or a pack (a folder or an .npz file)"
        raise DataError(f"{printable(path)}: expected {expected}, got {got}")
    if path.is_file() or any((path / f"{name}.npz").is_file() for name in SPLITS):
        return _load_pack(path, split, **options)
    return SOURCES["folder"].load(path, split, **options)


def _load_pack(path: Path, split: str, *, points: int | None = None, seed: int = 0) -> Pack:
    from .clouds import take_points

    # A single file that is not named after a split holds the whole data set, which we treat as the training split.
    holds_everything = path.is_file() and split == "train" and path.stem not in SPLITS
    return take_points(read_pack(path, None if holds_everything else split), points, seed)
