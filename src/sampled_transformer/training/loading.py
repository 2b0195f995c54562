"""Packs as batches, in an order that follows from the seed and the step; transforms work on whole batches."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from ..data import SOURCES, Batch, Pack, list_sources, load_data
from ..data.axes import check_up, turn_pack
from ..data.class_counts import lines_about_missing
from ..data.clouds import take_points
from ..data.errors import DataError
from ..data.repack import shapes_below
from ..data.transforms import PRESETS, Transform, preset
from ..support.printable import printable
from ..support.registry import listing, look_up
from .settings import DataOptions

ORDER, AUGMENTATION, CYCLES, VALIDATION, VOTES = range(5)  # uses of a seed
MOST_FOLDER_POINTS = 2048  # drawn from each file of a folder; every batch takes some of them


def derive(seed: int, *numbers: int) -> int:
    """The seed of one use: a function of the seed of the run and of the numbers that identify the use."""
    return int(np.random.SeedSequence([seed, *numbers]).generate_state(1, np.uint64)[0] >> 1)


@dataclass(frozen=True)
class View:
    """How a network sees shapes: the transforms of a preset, the number of points, and whether there are normals.

    `up` is the axis that points up, such as "z" or "-y"; empty if the data does not say. `corruptions` are those of the
    preset "robust", where they differ from the usual ones.
    """

    preset: str
    points: int
    normals: bool
    up: str = ""
    corruptions: Mapping[str, Any] = field(default_factory=dict)

    def transforms(self) -> tuple[Transform, Transform]:
        return preset(self.preset, self.points, corruptions=self.corruptions)


@dataclass(frozen=True)
class Splits:
    """The data of a run, and how the network sees it."""

    train: Pack
    test: Pack | None
    validation: Pack | None
    view: View


def load_splits(options: DataOptions, seed: int) -> Splits:
    """Load and check all data of a run, so that problems with it are reported before training begins."""
    name = choose_preset(options, "basic-strong")
    train, test = (
        load_split(options.source, options.root, split, options.points, numbers=True, up=options.up)
        for split in ("train", "test")
    )
    where = printable(options.source)
    if train.has_numbers or test.has_numbers:
        name = choose_preset(options, "resampled")
        _check_numbers(train, test, where)
    else:
        _check_classes(train, test, where)
    points = choose_points(options, (train, test), PRESETS[name][1])
    normals = options.normals
    if normals is None:
        normals = train.normals is not None and test.normals is not None
    view = View(name, points, normals, train.up, options.corruptions)
    check_normals(train, view, where)
    check_normals(test, view, where)
    validation = None
    if options.validation:
        train, validation = hold_out(train, options.validation, seed)
    return Splits(train, test, validation, view)


def choose_preset(options: DataOptions, usual: str) -> str:
    """The requested preset, else `bricks` for bricks, else the default."""
    name = options.preset or ("bricks" if options.source == "bricks" else usual)
    look_up("data.preset", name, PRESETS)
    try:
        preset(name, corruptions=options.corruptions)
    except ValueError as error:
        raise ValueError(f"data.{error}") from None
    return name


def choose_points(options: DataOptions, packs: Sequence[Pack], usual: int) -> int:
    """The requested number of points per shape, else the default, or all if fewer are stored."""
    stored = int(min(pack.counts().min() for pack in packs))
    points = options.points or min(stored, usual)
    if points > stored:
        raise DataError(f"data.points: expected at most {stored}, the points of the smallest shape, got {points}")
    return points


def refuse_normals(options: DataOptions) -> None:
    """Refuse normals where tokens are made from positions."""
    if options.normals:
        raise ValueError("data.normals: expected false, because tokens are made from positions alone, got true")


def load_split(
    source: str, root: str | None, split: str, points: int | None, numbers: bool = False, up: str | None = None
) -> Pack:
    """One split of labelled shapes, all with the number of points of the smallest one.

    Labels are classes; with `numbers`, numbers to predict are welcome, too. `up` is as in `load_shapes`.
    """
    pack = load_shapes(source, root, split, points, up)
    if pack.has_numbers and len(pack):
        if numbers:
            return pack
        got = f"shapes with numbers to predict ({printable(pack.target_name or 'label')})"
        raise DataError(f"{printable(source)}: expected shapes with classes, got {got}")
    if len(pack) == 0 or pack.labels is None or not pack.classes:
        got = "no shapes" if len(pack) == 0 else "no labels" if pack.labels is None else "no names of classes"
        raise DataError(f"{printable(source)}: expected labelled shapes with the names of their classes, got {got}")
    return pack


def load_shapes(source: str, root: str | None, split: str, points: int | None, up: str | None = None) -> Pack:
    """One split, labelled or not, all with the number of points of the smallest one.

    `up` is the axis that is up in the files of a folder or in a pack, and becomes z.
    """
    check_up(up)
    if up is not None and source in SOURCES and source != "folder":
        raise DataError(f"up: expected none for the data set {source}, whose axes are known, got {up}")
    if source == "scanobjectnn":  # its default would silently be one of three data sets
        names = ", ".join(name for name in list_sources() if name.startswith("scanobjectnn-"))
        raise DataError(f"data: expected the name of a variant, one of {names}, got scanobjectnn")
    from_files = shapes_below(source, root) is not None
    more = points is not None and points > MOST_FOLDER_POINTS and from_files
    own = {"up": up} if up is not None and from_files else {}
    pack = load_data(source, split, root, **({"points": points} if more else {}), **own)
    if not from_files:
        pack = turn_pack(pack, up)
    if len(pack) == 0:
        return pack
    if "distinct" in pack.extras:
        return without_repeats(pack, printable(source))
    return pack if pack.ptr is None else take_points(pack, int(pack.counts().min()))


def without_repeats(pack: Pack, where: str) -> Pack:
    """The shapes of a folder, all with the number of distinct points of the smallest; small files repeat points."""
    number = int(pack.extras["distinct"].argmin())
    fewest = int(pack.extras["distinct"][number])
    if fewest >= pack.points.shape[1]:
        return pack
    name = "a file" if pack.names is None else printable(pack.names[number])
    warnings.warn(f"{where}: {name} has {fewest} points, so every shape is used with {fewest} points", stacklevel=3)
    return pack.keep_points(np.tile(np.arange(fewest), (len(pack), 1)))


def check_normals(pack: Pack, view: View, where: str) -> None:
    if view.normals and pack.normals is None:
        raise DataError(f"{where}: expected normals, got none (`data pack --normals estimate` computes them)")


def _check_classes(train: Pack, test: Pack, where: str) -> None:
    if train.classes != test.classes:
        got = f"{listing(train.classes)} and {listing(test.classes)}"
        raise DataError(f"{where}: expected the same classes in the train and test splits, got {got}")
    counts = np.bincount(train.labels, minlength=len(train.classes))  # type: ignore[arg-type]
    if (counts > 0).sum() < 2:
        raise DataError(f"{where}: expected training shapes of at least 2 classes, got {(counts > 0).sum()}")
    if counts.max() < 2:
        raise DataError(f"{where}: expected more than one training shape per class, got 1")
    for line in lines_about_missing(train, test):
        warnings.warn(f"{where}: {line}", stacklevel=3)


def _check_numbers(train: Pack, test: Pack, where: str) -> None:
    if not (train.has_numbers and test.has_numbers):
        kinds = ["numbers" if pack.has_numbers else "classes" for pack in (train, test)]
        raise DataError(f"{where}: expected the same labels in the train and test splits, got {' and '.join(kinds)}")
    if train.target_name != test.target_name:
        got = f"{printable(train.target_name)} and {printable(test.target_name)}"
        raise DataError(f"{where}: expected the same target in the train and test splits, got {got}")


def hold_out(pack: Pack, share: float, seed: int) -> tuple[Pack, Pack]:
    """Split off a share of each class, or of all if there are none: at least one shape, and never the only one."""
    assert pack.labels is not None
    generator = np.random.default_rng(derive(seed, VALIDATION))
    held = []
    groups = [pack.labels == label for label in range(len(pack.classes))]
    for group in [np.ones(len(pack), bool)] if pack.has_numbers else groups:
        members = generator.permutation(np.flatnonzero(group))
        held.append(members[: min(max(1, round(share * len(members))), max(0, len(members) - 1))])
    chosen = np.zeros(len(pack), bool)
    chosen[np.concatenate(held)] = True
    return pack.select(~chosen), pack.select(chosen)


class Batches:
    """The batches of one epoch; each is a function of the seed, the step and the rank, so a run can continue anywhere.

    Batches of one epoch differ in size by at most one, because a last batch of one shape has no batch statistics.

    Args:
        pack: Shapes.
        transform: Transform of whole batches.
        normals: Whether the network gets normals.
        batch: Size of the largest batch.
        seed: Seed of order and augmentation.
        steps: Returns the number of training steps done; if given, the shapes are shuffled.
        rank, world: Number of this process, and how many processes there are.
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

    def count(self) -> int:
        """The number of shapes in an epoch."""
        return len(self.pack)

    def __len__(self) -> int:
        share = math.ceil(self.count() / self.world)
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
            yield self.make(index, generator)

    def make(self, index: np.ndarray, generator: torch.Generator) -> Batch:
        """The batch of the shapes `index`; -1 stands for a shape that no answer is wanted for."""
        raw = self.pack.batch(index.clip(0))
        points, normals = self.transform(raw.points, raw.normals, generator)
        labels = raw.labels
        if labels is not None and (index < 0).any():
            nobody = math.nan if labels.is_floating_point() else -1
            labels = labels.masked_fill(torch.from_numpy(index < 0), nobody)
        return Batch(points, normals, labels)

    def shapes(self, step: int, rank: int) -> list[int]:
        """The shapes that a process gets in a training step."""
        epoch, number = divmod(step, len(self))
        return [int(one) for one in self._order(epoch, rank)[number]]

    def _order(self, epoch: int, rank: int | None = None) -> list[np.ndarray]:
        """The shapes of each batch. All processes get equally many: training repeats shapes, evaluation adds -1."""
        count = self.count()
        missing = -count % self.world
        if self.steps is None:
            order = np.concatenate([np.arange(count), np.full(missing, -1)])
        else:
            order = np.random.default_rng(derive(self.seed, ORDER, epoch)).permutation(count)
            order = np.resize(order, count + missing)
        return np.array_split(order[self.rank if rank is None else rank :: self.world], len(self))
