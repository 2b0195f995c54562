"""Few-shot folds: `way` classes with `shot` shapes each, drawn from a labelled pack or read from published files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...support.printable import printable
from ..clouds import LONGEST_NAME
from ..errors import DataError
from ..formats.restricted_pickle import check_shared, read_arrays_pickle, shown, whole_number
from ..pack import Pack


@dataclass(frozen=True)
class Fold:
    """One few-shot task. Labels are 0 to way - 1 in both packs; `classes` has their names."""

    train: Pack
    test: Pack

    @property
    def classes(self) -> tuple[str, ...]:
        return self.train.classes


def folds(
    train: Pack, test: Pack | None, way: int, shot: int, folds: int = 10, queries: int = 20, seed: int = 0
) -> Iterator[Fold]:
    """Yield the folds number 0 to folds - 1; see `fold`."""
    for number in range(folds):
        yield fold(train, test, way, shot, number, queries, seed)


def fold(
    train: Pack, test: Pack | None, way: int, shot: int, number: int = 0, queries: int = 20, seed: int = 0
) -> Fold:
    """Draw fold `number`: `way` random classes, with `shot` shapes per class from `train` and `queries` from `test`.

    A fold depends only on (seed, number), so folds can run in any order. We skip classes with too few shapes. Without
    `test`, both parts come from `train` and have no shape in common.
    """
    for name, value, least in (("way", way, 2), ("shot", shot, 1), ("queries", queries, 1), ("number", number, 0)):
        if value < least:
            raise DataError(f"{name}: expected at least {least}, got {value}")
    test = train if test is None else test
    random = np.random.default_rng((seed, number))
    chosen = random.permutation(_eligible(train, test, way, shot, queries))[:way]
    shots, asked = [], []
    for label in chosen:
        order = random.permutation(np.flatnonzero(train.labels == label))
        rest = order[shot:] if test is train else random.permutation(np.flatnonzero(test.labels == label))
        shots.append(order[:shot])
        asked.append(rest[:queries])
    names = tuple(_class_name(train, label) for label in chosen)
    return Fold(_part(train, shots, names), _part(test, asked, names))


def _eligible(train: Pack, test: Pack, way: int, shot: int, queries: int) -> np.ndarray:
    """The labels of the classes with enough shapes in both packs. Fewer than `way` of them is a DataError."""
    if train.labels is None or test.labels is None:
        raise DataError(f"{'train' if train.labels is None else 'test'}: expected a pack with labels, got none")
    if train.has_numbers or test.has_numbers:
        raise DataError(f"{'train' if train.has_numbers else 'test'}: expected a pack with classes, got numbers")
    if train.classes != test.classes:
        raise DataError("test: expected the classes of train in the same order, got different classes")
    total = len(train.classes) or 1 + int(max(train.labels.max(initial=0), test.labels.max(initial=0)))
    shapes = np.bincount(train.labels, minlength=total)
    left = shapes - shot if test is train else np.bincount(test.labels, minlength=total)
    enough = (shapes >= shot) & (left >= queries)
    if enough.sum() < way:
        need = f"{shot} shapes for training and {queries} for testing"
        lacking = np.flatnonzero(~enough)
        example = ""
        if len(lacking):  # the class that came closest shows best what to change
            label = max(lacking.tolist(), key=lambda label: min(shapes[label] - shot, left[label] - queries))
            available = f"{shapes[label]}" if test is train else f"{shapes[label]} and {left[label]}"
            example = f"; {_class_name(train, label)!r} has {available}"
        have = f"because {enough.sum()} of {total} classes have {need}{example}"
        raise DataError(f"way: expected at most {enough.sum()}, got {way}, {have}")
    return np.flatnonzero(enough)


def _class_name(pack: Pack, label: int) -> str:
    return pack.classes[label] if pack.classes else str(label)


def _part(pack: Pack, chosen: list[np.ndarray], classes: tuple[str, ...]) -> Pack:
    labels = np.repeat(np.arange(len(chosen)), [len(rows) for rows in chosen])
    return replace(pack.select(np.concatenate(chosen)), labels=labels, classes=classes)


def import_fold(path: str | Path, normalise: bool = True) -> Fold:
    """Read a published fold `{way}way_{shot}shot/{fold}.pkl`: {'train': [(points, label, key), ...], 'test': ...}.

    formats/restricted_pickle.py reads the pickle and runs nothing in it. Points are (n, 3), or (n, 6) with normals.
    """
    name = printable(path)
    content = read_arrays_pickle(path)
    if not isinstance(content, dict) or not {"train", "test"} <= content.keys():
        raise DataError(f"{name}: expected a dict with 'train' and 'test', got {type(content).__name__}")
    parts = {part: _items(content[part], Path(path), f"{name}: '{part}'") for part in ("train", "test")}
    labels = {part: sorted({label for _, label, _ in items}) for part, items in parts.items()}
    way = len(labels["train"])
    for part, values in labels.items():
        if values != list(range(way)):
            raise DataError(f"{name}: '{part}': expected labels 0 to {way - 1}, got {str(values)[:80]}")
    classes = [str(label) for label in range(way)]
    return Fold(*(_pack_items(parts[part], classes, normalise, f"{name}: '{part}'") for part in ("train", "test")))


def _items(items: Any, path: Path, where: str) -> list[tuple[np.ndarray, int, str]]:
    """Check the items (points, label, key) of one part."""
    if not isinstance(items, list | tuple) or not items:
        raise DataError(f"{where}: expected a list of (points, label, key), got {type(items).__name__}")
    result, total = [], 0
    for number, item in enumerate(items):
        if not isinstance(item, list | tuple) or len(item) != 3 or not isinstance(item[0], np.ndarray):
            raise DataError(f"{where}: item {number}: expected (points, label, key), got {type(item).__name__}")
        points, label, key = item
        if points.ndim != 2 or points.shape[1] not in (3, 6):
            raise DataError(f"{where}: item {number}: expected points (n, 3) or (n, 6), got {points.shape}")
        if isinstance(label, list) and len(label) == 1:
            label = label[0]
        value = whole_number(label)
        if value is None or value < 0:
            raise DataError(f"{where}: item {number}: expected a label of at least 0, got {shown(label)}")
        total += points.nbytes
        check_shared(total, path, where)
        text = key[:LONGEST_NAME] if isinstance(key, str) else str(number)
        result.append((points, value, text))
    return result


def _pack_items(items: list[tuple[np.ndarray, int, str]], classes: list[str], normalise: bool, where: str) -> Pack:
    with_normals = all(points.shape[1] == 6 for points, _, _ in items)
    try:
        return Pack.from_arrays(
            [points[:, :3] for points, _, _ in items],
            labels=[label for _, label, _ in items],
            names=[key for _, _, key in items],
            classes=classes,
            normals=[points[:, 3:] for points, _, _ in items] if with_normals else None,
            normalise=normalise,
        )
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
