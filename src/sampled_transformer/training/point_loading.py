"""Sets whose points have labels: splits, how a network sees them, and packed batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data import SOURCES, SPLITS, Batch, Pack, load_data
from ..data.axes import check_up, turn_pack
from ..data.errors import DataError
from ..data.per_point import COLOUR, IGNORE, expect_point_labels, unit, width
from ..data.point_transforms import PointAugmentation, choose_rows
from ..support.printable import printable
from ..support.registry import listing, look_up
from .loading import VALIDATION, Batches, derive
from .segment_settings import PointDataOptions

SUBSET, CROP = 1024, 50_000  # the usual number of points of a set
NORMALS = "normals"


@dataclass(frozen=True)
class PointView:
    """How a network that labels points sees a set.

    `features` are the names and widths of what it reads besides positions, normals among them, and `optional` those
    that it can do without. `points` is the size of the sets that it was trained on. `part` and `size` are as in
    `PointDataOptions`; `up` is the axis that points up, empty if nobody knows.
    """

    points: int
    part: str = "subset"
    size: str = "unit"
    features: Mapping[str, int] = field(default_factory=dict)
    optional: tuple[str, ...] = ()
    up: str = ""

    def place(self, points: np.ndarray) -> np.ndarray:
        """The positions of one set (n, 3) as the network sees them, in float64.

        "unit" centres them on their mean and divides by the largest norm. "kept" moves the middle to x = y = 0 and the
        lowest point to z = 0, and keeps the unit.
        """
        points = np.asarray(points, np.float64)
        if len(points) == 0:
            return points
        if self.size == "kept":
            origin = np.array([*(points[:, :2].min(0) + points[:, :2].max(0)) / 2, points[:, 2].min()])
            return np.asarray(points - origin)
        centred = points - points.mean(0)
        largest = float(np.sqrt(np.square(centred).sum(1).max()))
        return np.asarray(centred / largest if largest > 0 else centred)


@dataclass(frozen=True)
class PointSplits:
    """The data of a run, and how the network sees it."""

    train: Pack
    test: Pack | None
    validation: Pack | None
    view: PointView


def load_point_splits(options: PointDataOptions, size: str, ignore: list[str], seed: int) -> PointSplits:
    """Load and check all data of a run, so that problems with it are reported before training begins."""
    where = printable(options.source)
    train, test = (load_point_split(options.source, options.root, split, options.up) for split in ("train", "test"))
    if train.point_classes != test.point_classes:
        got = f"{listing(train.point_classes)} and {listing(test.point_classes)}"
        raise DataError(f"{where}: expected the same point classes in the train and test splits, got {got}")
    train, test = (ignore_classes(pack, ignore) for pack in (train, test))
    for pack in (train, test):
        expect_point_labels(pack, where)
    if len(np.unique(train.point_labels[train.point_labels != IGNORE])) < 2:  # type: ignore[index]
        raise DataError(f"{where}: expected training points of at least 2 classes, got 1")
    warn_of_unseen_classes(train, test, where)
    features = choose_features(options, train, test, where)
    usual = SUBSET if options.part == "subset" else CROP
    largest = int(train.counts().max())
    if options.points is not None and options.points > largest:
        raise DataError(f"data.points: expected at most {largest}, the points of the largest set, got {options.points}")
    points = options.points or min(usual, largest)
    optional = tuple(features) if options.missing else ()
    view = PointView(points, options.part, size, features, optional, train.up)
    validation = None
    if options.validation:
        train, validation = hold_out_sets(train, options.validation, seed)
        for part in (train, validation):
            expect_point_labels(part, f"data.validation: {where}")
    return PointSplits(train, test, validation, view)


def load_point_split(source: str, root: str | None, split: str, up: str | None = None) -> Pack:
    """One split of sets whose points have labels."""
    check_up(up)
    pack = _load(source, root, split)
    if up is not None:
        pack = turn_pack(pack, up)
    where = printable(source)
    if len(pack) == 0:
        raise DataError(f"{where}: expected at least 1 set in the {split} split, got none")
    expect_point_labels(pack, f"{where}, {split} split")
    check_colour(pack, where)
    return pack


def _load(source: str, root: str | None, split: str) -> Pack:
    """A data set, a pack, or a folder of labelled scans; folders of shapes have no labels per point."""
    path = Path(source)
    is_pack = any((path / f"{name}.npz").is_file() for name in SPLITS)
    if source not in SOURCES and path.is_dir() and not is_pack:
        return load_data("scans", split, source)
    return load_data(source, split, root)


def check_colour(pack: Pack, where: str) -> None:
    """Refuse a colour that is not from 0 to 1, or bytes: scans have it so, and a network must see one kind."""
    values = pack.features.get(COLOUR)
    if values is None or values.dtype == np.uint8 or not values.size:
        return
    low, high = float(values.min()), float(values.max())
    if low < 0 or high > 1:
        raise DataError(f"{where}: feature_colour: expected bytes, or numbers from 0 to 1, got {low:g} to {high:g}")


def ignore_classes(pack: Pack, names: list[str]) -> Pack:
    """The pack with all points of these classes labelled -1."""
    assert pack.point_labels is not None
    if not names:
        return pack
    for name in names:
        look_up("loss.ignore", name, dict.fromkeys(pack.point_classes))
    numbers = [pack.point_classes.index(name) for name in names]
    labels = np.where(np.isin(pack.point_labels, numbers), IGNORE, pack.point_labels)
    return replace(pack, point_labels=labels.astype(np.int16))


def warn_of_unseen_classes(train: Pack, test: Pack, where: str) -> None:
    """Say which classes are asked for and cannot be learned."""
    known, asked = (set(np.unique(pack.point_labels).tolist()) - {IGNORE} for pack in (train, test))  # type: ignore[arg-type]
    unseen = [train.point_classes[number] for number in sorted(asked - known)]
    if unseen:
        expected = "expected training points of every class of the test split"
        warnings.warn(f"{where}: {expected}, got none of {listing(unseen)}", stacklevel=2)


def choose_features(options: PointDataOptions, train: Pack, test: Pack, where: str) -> dict[str, int]:
    """The names and widths of the features to use: those asked for, or all that both splits have."""
    known = {name: width(values, train.points) for name, values in train.features.items() if name in test.features}
    for name, columns in known.items():
        found = width(test.features[name], test.points)
        if found != columns:
            expected = f"{columns} numbers per point in the test split, as in the train split"
            raise DataError(f"{where}: feature_{name}: expected {expected}, got {found}")
    chosen = known
    if options.features is not None:
        for name in options.features:
            look_up("data.features", name, known)
        chosen = {name: known[name] for name in options.features}
    has_normals = train.normals is not None and test.normals is not None
    if options.normals and not has_normals:
        raise DataError(f"{where}: expected normals, got none")
    with_normals = has_normals if options.normals is None else options.normals
    return dict(sorted((({NORMALS: 3} if with_normals else {}) | chosen).items()))


def hold_out_sets(pack: Pack, share: float, seed: int) -> tuple[Pack, Pack]:
    """Split off a share of the sets: at least one, and never all."""
    if len(pack) < 2:
        raise DataError(f"data.validation: expected at least 2 training sets to hold some out, got {len(pack)}")
    order = np.random.default_rng(derive(seed, VALIDATION)).permutation(len(pack))
    count = min(max(1, round(share * len(pack))), len(pack) - 1)
    return pack.select(np.sort(order[count:])), pack.select(np.sort(order[:count]))


def set_of(pack: Pack, number: int, view: PointView) -> Batch:
    """One set of a pack as the network sees it, packed, with all its points."""
    raw = pack.batch([number])
    points = torch.from_numpy(view.place(pack.coordinates(number))).float()
    flat: dict[str, Any] = {}
    if raw.ptr is None:
        flat = {
            "normals": None if raw.normals is None else raw.normals[0],
            "point_labels": None if raw.point_labels is None else raw.point_labels[0],
            "features": None if raw.features is None else {name: one[0] for name, one in raw.features.items()},
        }
    return raw._replace(points=points, ptr=torch.tensor([0, len(points)]), **flat)


def take_rows(one: Batch, rows: Tensor) -> Batch:
    """Some points of a single set."""
    return one._replace(
        points=one.points[rows],
        normals=None if one.normals is None else one.normals[rows],
        point_labels=None if one.point_labels is None else one.point_labels[rows],
        features=None if one.features is None else {name: values[rows] for name, values in one.features.items()},
        ptr=torch.tensor([0, len(rows)]),
    )


def join_sets(sets: list[Batch]) -> Batch:
    """Several packed sets as one batch."""

    def joined(name: str) -> Tensor | None:
        parts = [getattr(one, name) for one in sets]
        return None if parts[0] is None else torch.cat(parts)

    points = joined("points")
    assert points is not None
    sizes = torch.tensor([0, *(len(one.points) for one in sets)])
    features = None
    if sets[0].features is not None:
        names = sets[0].features
        features = {name: torch.cat([one.features[name] for one in sets if one.features]) for name in names}
    return Batch(points, joined("normals"), joined("labels"), sizes.cumsum(0), joined("point_labels"), features)


def network_inputs(batch: Batch, view: PointView) -> dict[str, Any]:
    """The arguments of a `Segmenter` for a packed batch."""
    known = dict(batch.features or {})
    if batch.normals is not None:
        known[NORMALS] = batch.normals
    features = {name: known[name] for name in view.features if name in known}
    return {"points": batch.points, "features": features, "ptr": batch.ptr}


class PointBatches(Batches):
    """The packed batches of one epoch; see `Batches` for what they depend on.

    In training a set gives random parts of `view.points` points, as many as it takes to show most of it. In evaluation
    a subset is the first points of a set, and a scene is shown as a whole.

    Args:
        pack: Sets whose points have labels.
        view: How the network sees them.
        augmentation: Random changes in training (None: none).
        batch: Size of the largest batch.
        seed: Seed of order, parts and augmentation.
        steps: Returns the number of training steps done; None for evaluation.
        rank, world: Number of this process, and how many processes there are.
    """

    def __init__(
        self,
        pack: Pack,
        view: PointView,
        augmentation: PointAugmentation | None,
        batch: int,
        seed: int = 0,
        steps: Callable[[], int] | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        super().__init__(pack, None, True, batch, seed, steps, rank, world)  # type: ignore[arg-type]
        self.view, self.augmentation = view, augmentation
        counts = pack.counts()
        cropped = steps is not None and view.part == "crop"
        parts = np.maximum(1, np.round(counts / view.points)) if cropped else np.ones(len(counts))
        self.parts = np.repeat(np.arange(len(counts)), parts.astype(np.int64))  # the set of each part of an epoch

    def count(self) -> int:
        return len(self.parts)

    def make(self, index: np.ndarray, generator: torch.Generator) -> Batch:
        sets = []
        for number in index.tolist():
            one = set_of(self.pack, int(self.parts[max(number, 0)]), self.view)
            if self.steps is not None:
                one = take_rows(one, choose_rows(one.points, self.view.points, self.view.part, generator))
            elif self.view.part == "subset":
                one = take_rows(one, torch.arange(min(len(one.points), self.view.points)))
            if number < 0:
                assert one.point_labels is not None
                one = one._replace(point_labels=torch.full_like(one.point_labels, IGNORE))
            sets.append(one)
        batch = join_sets(sets)
        if self.steps is None or self.augmentation is None:
            return batch
        return self.augmentation(batch, generator)


def feature_statistics(pack: Pack, view: PointView) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Mean and standard deviation of every feature but normals over the training points, per column."""
    mean, deviation = {}, {}
    for name, columns in view.features.items():
        if name == NORMALS:
            continue
        values = np.asarray(pack.features[name], np.float64).reshape(-1, columns)
        values /= unit(name, pack.features[name])
        mean[name] = torch.from_numpy(values.mean(0)).float()
        deviation[name] = torch.from_numpy(values.std(0)).float()
    return mean, deviation


def class_weights(pack: Pack, balance: float) -> Tensor:
    """Weights of the classes, (classes,): the share of the points to the power of -balance, with a mean of 1.

    A class without points has the weight 0.
    """
    assert pack.point_labels is not None
    counts = np.bincount(pack.point_labels[pack.point_labels != IGNORE], minlength=len(pack.point_classes))
    there = counts > 0
    weights = np.zeros(len(counts))
    weights[there] = (counts[there] / counts.sum()) ** -balance
    return torch.from_numpy(weights / weights[there].mean()).float()
