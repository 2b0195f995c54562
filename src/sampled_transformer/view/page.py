"""The live page: one network for all visitors, and the shapes that it offers. Each visitor has a panel of his own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..clustering.evaluation import load_mixture_network
from ..clustering.settings import MixtureOptions
from ..data import SOURCES
from ..data.errors import DataError
from ..data.files import READERS
from ..data.formats.meshes import Mesh
from ..data.repack import shapes_below
from ..inference.defaults import DEFAULT_WEIGHTS
from ..inference.trained import in_evaluation
from ..inference.trained_network import TrainedNetwork, load
from ..support.printable import printable
from ..weights import FILE, find_weights, list_pretrained
from .shapes import Item, Shelf, load_item, load_shelf

SHOWN = "bricks"  # data and weights, if nothing is named
ATTENDING = "modelnet40"  # weights for files with normals; those of `predict` have no attention between points


@dataclass
class Page:
    """What all visitors share.

    Args:
        trained: The network.
        shelf: Shapes to pick from.
        first: The shape that is shown first.
        weights: Where the network comes from.
    """

    trained: TrainedNetwork
    shelf: Shelf | None = None
    first: Item | None = None
    weights: str = ""
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def kind(self) -> str:
        """What the network does: "classes", "number", "features", "labels" of points, or "clusters"."""
        model = self.trained.description.model
        if model.endswith("-mixture"):
            return "clusters"
        named = {"segmenter": "labels", "mae": "features"}
        return named.get(model, "classes" if self.trained.target is None else "number")

    @cached_property
    def mixtures(self) -> MixtureOptions:
        """The sets that a network for clustering was trained on."""
        return load_mixture_network(find_weights(self.weights), str(self.trained.device))[2]

    @property
    def dimension(self) -> int:
        """Coordinates per point."""
        return self.mixtures.dimension if self.kind == "clusters" else 3

    @contextmanager
    def asking(self) -> Iterator[None]:
        """One visitor asks at a time: the seed of the cycles is a property of the network."""
        with self.lock, in_evaluation(self.trained.network):
            yield


def open_page(
    shown: str | None = None, weights: str | None = None, root: str | None = None, device: str | None = None
) -> Page:
    """The page for a file, a pack, a data set by name, a run, or weights.

    Args:
        shown: What to show (default: the embedded parts).
        weights: The network (default: that of the run or pack; else one that shows attention, which needs normals,
            or without normals that of `predict`).
        root: Folder that holds a data set given by name.
        device: Device (default: GPU if available).
    """
    shown = SHOWN if shown is None and weights is None else shown
    path = None if shown is None else Path(shown)
    if path is not None and path.is_file() and path.suffix.lower() in READERS and not _is_pack(path):
        if weights is None:
            item = load_item(path)
            chosen = _usual_weights(item)
            return Page(load(chosen, device), first=item, weights=chosen)
        page = Page(load(weights, device), weights=weights)
        scan = page.kind == "labels"
        page.first = load_item(path, scan=scan) if page.kind != "clusters" else _load_points(path, page.dimension)
        return page
    if shown is None or _is_weights(shown, path):
        chosen = weights or str(shown)
        trained = load(chosen, device)
        page = Page(trained, weights=chosen)
        page.shelf = _own_shelf(page, root)
        return page
    assert path is not None
    if shapes_below(shown, root) is not None:
        raise DataError(f"{printable(shown)}: expected a file, a pack, a run or weights; `data pack` makes a pack")
    shelf = load_shelf(shown, root)
    chosen = weights or (shown if shown in list_pretrained() else _usual_weights(shelf.item(0)))
    return Page(load(chosen, device), shelf, weights=chosen)


def _load_points(path: Path, dimension: int) -> Item:
    from .reader import read_apart

    return Item(path.name, read_apart(path, dimension=dimension).raw)


def _is_pack(path: Path) -> bool:
    """Whether a file is a pack: .npz files may also be one shape."""
    if path.suffix.lower() != ".npz":
        return False
    try:
        load_shelf(str(path))
    except (DataError, ValueError, OSError):
        return False
    return True


def _is_weights(shown: str, path: Path | None) -> bool:
    """Whether a text names weights and not data; "bricks" names both, and there we show the data."""
    if path is not None and path.is_dir():
        return (path / FILE).is_file()
    if path is not None and path.is_file():
        return path.suffix == ".safetensors"
    return shown in list_pretrained() and (shown not in SOURCES or SOURCES[shown].needs_root)


def _usual_weights(item: Item) -> str:
    """A network whose attention can be seen. It needs normals; where there are none, the network of `predict`."""
    with_normals = isinstance(item.raw, Mesh) or item.raw.normals is not None
    return ATTENDING if with_normals else DEFAULT_WEIGHTS


def _own_shelf(page: Page, root: str | None) -> Shelf | None:
    """The data that a network was trained on, if it is here; else the embedded parts."""
    if page.kind == "clusters":
        return None
    notes: Any = page.trained.description.notes.get("data", {})
    source = notes.get("source") if isinstance(notes, dict) else None
    for name, place in ((source, root or (notes.get("root") if isinstance(notes, dict) else None)), (SHOWN, None)):
        if not isinstance(name, str):
            continue
        try:
            return load_shelf(name, place)
        except (ValueError, OSError):  # it is not on this machine
            continue
    return None
