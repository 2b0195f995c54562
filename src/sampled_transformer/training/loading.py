"""Packs as batches: a gather and a transform of each whole batch, in an order that the seed and the step decide."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from ..data import Batch, Pack, list_sources, load_data
from ..data.clouds import take_points
from ..data.errors import DataError
from ..data.repack import shapes_below
from ..data.transforms import PRESETS, Transform, preset
from ..support.printable import printable
from .settings import DataOptions

ORDER, AUGMENTATION, CYCLES, VALIDATION, VOTES = range(5)  # what a seed is for
MOST_FOLDER_POINTS = 2048  # drawn from each file of a folder, of which every batch takes some


def derive(seed: int, *numbers: int) -> int:
    """A seed for one use, from the seed of the run and the numbers of the use."""
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1, np.uint64)[0] >> 1)


@dataclass(frozen=True)
class View:
    """How a network sees shapes: so many points, with or without normals, through the transforms of a preset."""

    preset: str
    points: int
    normals: bool

    def transforms(self) -> tuple[Transform, Transform]:
        return preset(self.preset, self.points)


@dataclass(frozen=True)
class Splits:
    train: Pack
    test: Pack | None
    validation: Pack | None
    view: View


def load_splits(options: DataOptions, seed: int) -> Splits:
    """Load and check all that a run needs, so that what is wrong with the data is said before training begins."""
    name = options.preset or ("bricks" if options.source == "bricks" else "basic-strong")
    if name not in PRESETS:
        raise ValueError(f"data.preset: expected one of {', '.join(PRESETS)}, got {name!r}")
    train = load_split(options.source, options.root, "train", options.points)
    test = load_split(options.source, options.root, "test", options.points)
    where = printable(options.source)
    _check_classes(train, test, where)
    stored = int(min(train.counts().min(), test.counts().min()))
    points = options.points or min(stored, PRESETS[name][1])
    if points > stored:
        raise DataError(f"data.points: expected at most {stored}, the points of the smallest shape, got {points}")
    normals = options.normals
    if normals is None:
        normals = train.normals is not None and test.normals is not None
    view = View(name, points, normals)
    check_normals(train, view, where)
    check_normals(test, view, where)
    validation = None
    if options.validation:
        train, validation = hold_out(train, options.validation, seed)
    return Splits(train, test, validation, view)


def load_split(source: str, root: str | None, split: str, points: int | None) -> Pack:
    """One split of labelled shapes with as many points a shape as all of its shapes have."""
    pack = load_shapes(source, root, split, points)
    if len(pack) == 0 or pack.labels is None or not pack.classes:
        raise DataError(f"{printable(source)}: expected labelled shapes with the names of their classes")
    return pack


def load_shapes(source: str, root: str | None, split: str, points: int | None) -> Pack:
    """One split, labelled or not, with as many points a shape as all of its shapes have."""
    if source == "scanobjectnn":  # its default would be one of three data sets, silently
        names = ", ".join(name for name in list_sources() if name.startswith("scanobjectnn-"))
        raise DataError(f"scanobjectnn: expected the name of a variant, one of {names}")
    more = points is not None and points > MOST_FOLDER_POINTS and shapes_below(source, root) is not None
    pack = load_data(source, split, root, **({"points": points} if more else {}))
    if len(pack) == 0:
        return pack
    if "distinct" in pack.extras:
        return without_repeats(pack, printable(source))
    return pack if pack.ptr is None else take_points(pack, int(pack.counts().min()))


def without_repeats(pack: Pack, where: str) -> Pack:
    """The shapes of a folder with as many points as the smallest of them has: files with fewer repeat some."""
    number = int(pack.extras["distinct"].argmin())
    fewest = int(pack.extras["distinct"][number])
    if fewest >= pack.points.shape[1]:
        return pack
    name = "a file" if pack.names is None else printable(pack.names[number])
    warnings.warn(f"{where}: {name} has {fewest} points, so that no shape is seen with more", stacklevel=3)
    normals = None if pack.normals is None else pack.normals[:, :fewest]
    return replace(pack, points=pack.points[:, :fewest], normals=normals)


def check_normals(pack: Pack, view: View, where: str) -> None:
    if view.normals and pack.normals is None:
        raise DataError(f"{where}: has no normals, which the network needs (`data pack --normals estimate` makes them)")


def _check_classes(train: Pack, test: Pack, where: str) -> None:
    if train.classes != test.classes:
        raise DataError(f"{where}: its train and test splits name different classes")
    counts = np.bincount(train.labels, minlength=len(train.classes))  # type: ignore[arg-type]
    if (counts > 0).sum() < 2:
        raise DataError(f"{where}: expected shapes of at least 2 classes to train on, found {(counts > 0).sum()}")
    if counts.max() < 2:
        raise DataError(f"{where}: expected more than one shape a class to train on")
    for number in np.flatnonzero(counts == 0):
        warnings.warn(f"{where}: class {train.classes[number]!r} has no shape to train on", stacklevel=3)


def hold_out(pack: Pack, share: float, seed: int) -> tuple[Pack, Pack]:
    """Split off a share of each class: at least one shape, and never the last one."""
    assert pack.labels is not None
    generator = np.random.default_rng(derive(seed, VALIDATION))
    held = []
    for label in range(len(pack.classes)):
        members = generator.permutation(np.flatnonzero(pack.labels == label))
        held.append(members[: min(max(1, round(share * len(members))), max(0, len(members) - 1))])
    chosen = np.zeros(len(pack), bool)
    chosen[np.concatenate(held)] = True
    return pack.select(~chosen), pack.select(chosen)


class Batches:
    """The batches of one epoch; each is a function of the seed, the step and the rank, so a run can go on anywhere.

    Batches of one epoch differ in size by at most one: a rest of a single shape has no batch statistics.

    Args:
        pack: the shapes.
        transform: of whole batches.
        normals: whether normals are given to the network.
        batch: the largest batch.
        seed: of order and augmentation.
        steps: how many steps of training are done; the shapes are shuffled if it is given.
        rank, world: which of how many processes this is.
    """

    def __init__(
        self,
        pack: Pack,
        transform: Transform,
        normals: bool,
        batch: int,
        seed: int = 0,
        steps: Callable[[], int] | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self.pack = pack if normals else replace(pack, normals=None)
        self.transform, self.batch, self.seed, self.steps = transform, batch, seed, steps
        self.rank, self.world = rank, world

    def __len__(self) -> int:
        share = math.ceil(len(self.pack) / self.world)
        count = math.ceil(share / self.batch)
        if self.steps is not None and self.batch > 1:
            count = min(count, max(1, share // 2))  # an odd number of shapes in batches of two: one gets three
        return count

    def __iter__(self) -> Iterator[Batch]:
        steps = 0 if self.steps is None else self.steps()
        epoch, first = divmod(steps, len(self))
        for number, index in enumerate(self._order(epoch)):
            if number < first:
                continue
            generator = torch.Generator().manual_seed(derive(self.seed, AUGMENTATION, epoch, number, self.rank))
            raw = self.pack.batch(index.clip(0))
            points, normals = self.transform(raw.points, raw.normals, generator)
            labels = raw.labels
            if labels is not None and (index < 0).any():
                labels = labels.masked_fill(torch.from_numpy(index < 0), -1)
            yield Batch(points, normals, labels)

    def _order(self, epoch: int) -> list[np.ndarray]:
        """Which shapes come when. All processes get as many: in training some shapes come twice, else -1 is nobody."""
        count = len(self.pack)
        missing = -count % self.world
        if self.steps is None:
            order = np.concatenate([np.arange(count), np.full(missing, -1)])
        else:
            order = np.random.default_rng(derive(self.seed, ORDER, epoch)).permutation(count)
            order = np.resize(order, count + missing)
        return np.array_split(order[self.rank :: self.world], len(self))
