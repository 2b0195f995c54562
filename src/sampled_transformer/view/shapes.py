"""The shapes that the live page offers: those of a pack, and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..data.axes import standard_up
from ..data.class_numbers import class_name
from ..data.errors import DataError
from ..data.formats.meshes import Mesh
from ..data.formats.point_files import Cloud
from ..data.pack import Pack
from ..data.repack import load_splits
from .reader import MOST_POINTS, Reading, read_apart

UNITS = {"mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0, "inch": 0.0254, "foot": 0.3048}  # in metres
UNKNOWN = "unknown"  # of a file that does not say
UNKNOWN_CLASS = -1  # of a point without a label, or with one that the network does not know
MOST_LISTED = 2000  # shapes of a pack in the list


@dataclass(frozen=True)
class Item:
    """One shape, in the coordinates of its file."""

    name: str
    raw: Mesh | Cloud
    up: str | None = None  # the axis that is up, if somebody knows
    truth: str | None = None  # its class, or its number
    labels: np.ndarray | None = None  # the class of every point, if there are any
    notes: tuple[str, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)  # of the classes of points
    features: Mapping[str, np.ndarray] = field(default_factory=dict)  # of the points, without normals

    @property
    def vertices(self) -> np.ndarray:
        """The points, or the corners of the mesh, (n, 3)."""
        return np.asarray(self.raw[0])

    @property
    def extent(self) -> np.ndarray:
        """Length along each axis, (3,)."""
        extent: np.ndarray = np.ptp(self.vertices, axis=0)
        return extent

    def true_classes(self, classes: Sequence[str]) -> np.ndarray | None:
        """The class of every point as its number among `classes`, (n,); -1 where they lack it. None if all do.

        Classes are compared by name, because numbers mean something else in every file. A class without a name is
        called by its number, such as "7" or "class 7".
        """
        if self.labels is None:
            return None
        known = {name: number for number, name in enumerate(classes)}
        found, places = np.unique(self.labels, return_inverse=True)
        called = [(self.names.get(one), str(one), class_name(one)) for one in found.tolist()]
        numbers = [next((known[name] for name in names if name in known), UNKNOWN_CLASS) for names in called]
        own: np.ndarray = np.array(numbers, np.int64)[places.reshape(-1)]
        return own if (own >= 0).any() else None


def from_reading(name: str, reading: Reading) -> Item:
    """An item from a file that was read."""
    return Item(
        name,
        reading.raw,
        standard_up(name),
        labels=reading.labels,
        notes=reading.notes,
        names=reading.names or {},
        features=reading.features or {},
    )


class Shelf:
    """The shapes of a pack, by number.

    Args:
        packs: Splits by name.
    """

    def __init__(self, packs: dict[str, Pack]) -> None:
        self.packs = packs
        self.places = [(split, number) for split, pack in packs.items() for number in range(len(pack))][:MOST_LISTED]

    def __len__(self) -> int:
        return len(self.places)

    def titles(self) -> list[str]:
        """What the list shows, one different text per shape."""
        return [f"{place}: {self._title(*self.places[place])}" for place in range(len(self))]

    def item(self, place: int) -> Item:
        """The shape at a place in the list."""
        split, number = self.places[place]
        pack = self.packs[split]
        batch = pack.batch([number])
        normals = None if batch.normals is None else batch.normals.reshape(-1, 3).numpy()
        # A network of scenes knows the real size.
        points = batch.points.reshape(-1, 3).double().numpy() if pack.scale is None else pack.coordinates(number)
        return Item(
            self._name(split, number),
            Cloud(points, normals),
            pack.up or None,
            self._truth(split, number),
            None if batch.point_labels is None else batch.point_labels.reshape(-1).numpy(),
            names=dict(enumerate(pack.point_classes)),
            features={name: one.reshape(len(points), -1).numpy() for name, one in (batch.features or {}).items()},
        )

    def _title(self, split: str, number: int) -> str:
        truth = self._truth(split, number)
        return f"{self._name(split, number)}" + ("" if truth is None else f" ({truth})")

    def _name(self, split: str, number: int) -> str:
        names = self.packs[split].names
        return f"{split} {number}" if names is None else str(names[number])

    def _truth(self, split: str, number: int) -> str | None:
        pack = self.packs[split]
        if pack.labels is None:
            return None
        if pack.has_numbers:
            return f"{pack.target_name or 'label'} {pack.labels[number]:.6g}"
        label = int(pack.labels[number])
        return pack.classes[label] if label < len(pack.classes) else str(label)


def load_shelf(source: str, root: str | None = None, first: str = "test") -> Shelf:
    """The shapes of a pack or a data set; those of the split `first` come first."""
    packs = load_splits(source, root)
    order = sorted(packs, key=lambda split: split != first)
    found = Shelf({split: packs[split] for split in order})
    if not len(found):
        raise DataError(f"{source}: expected at least one shape, got none")
    return found


def load_item(path: Path, most: int = MOST_POINTS, scan: bool = False) -> Item:
    """A file on this machine, read in a process of its own; with `scan`, labels and features of its points, too."""
    return from_reading(path.name, read_apart(path, most=most, scan=scan))


def written_size(extent: np.ndarray, unit: str) -> str:
    """The size of a shape as text: in the file's own unit, and in a unit of length that suits it."""
    if unit not in UNITS:
        return " x ".join(f"{length:.4g}" for length in extent) + " units of the file"
    metres = extent * UNITS[unit]
    name = next((name for name in ("km", "m", "cm") if metres.max() >= UNITS[name]), "mm")
    return " x ".join(f"{length:.4g}" for length in metres / UNITS[name]) + f" {name}"
