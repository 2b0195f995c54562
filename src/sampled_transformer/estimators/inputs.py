"""What users pass as X: a list of (n, d) arrays in any of its forms, checked and packed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class PackedSets:
    """Sets of rows, one after the other: set i is the rows ptr[i] to ptr[i + 1]."""

    rows: np.ndarray  # float32 (total, d)
    ptr: np.ndarray  # int64 (sets + 1,)

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def sizes(self) -> np.ndarray:
        """The number of rows of each set, (sets,)."""
        return np.diff(self.ptr)

    def select(self, sets: np.ndarray) -> PackedSets:
        """The sets with these numbers, in this order."""
        return PackedSets(self.rows[self.places(sets)], cut(self.sizes[sets]))

    def ordered(self) -> PackedSets:
        """The same sets with their rows in ascending order: what follows does not depend on the order of the rows."""
        owner = np.repeat(np.arange(len(self)), self.sizes)
        return PackedSets(self.rows[np.lexsort((*self.rows.T, owner))], self.ptr)

    def places(self, sets: np.ndarray) -> np.ndarray:
        """The rows of the sets with these numbers, one set after the other."""
        sizes = self.sizes[sets]
        ptr = cut(sizes)
        found: np.ndarray = np.arange(ptr[-1]) + np.repeat(self.ptr[sets] - ptr[:-1], sizes)
        return found

    def places_of_some(self, sets: np.ndarray, most: int, generator: np.random.Generator) -> list[np.ndarray]:
        """The rows of each named set; of a set with more than `most` rows, that many at random."""
        found = []
        for begin, size in zip(self.ptr[sets], self.sizes[sets], strict=True):
            kept = np.arange(size) if size <= most else generator.choice(size, most, replace=False, shuffle=False)
            found.append(begin + kept)
        return found


def cut(sizes: np.ndarray) -> np.ndarray:
    """The ptr (sets + 1,) of sets of these sizes."""
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def pack(X: Any, columns: int | None = None) -> PackedSets:
    """Check X and pack it: a list of (n, d) arrays, an object array of them, or one (sets, n, d) array.

    A set may be empty. `columns` is the d that a fitted estimator expects.
    """
    sets = _as_list(X)
    if not sets:
        raise ValueError("X: expected at least 1 set, got none")
    arrays = [_as_rows(one, f"X[{number}]") for number, one in enumerate(sets)]
    width, since = columns, "in fit"
    for number, array in enumerate(arrays):
        if array is None:
            continue
        if width is None:
            width, since = array.shape[1], f"X[{number}]"
        if array.shape[1] != width:
            raise ValueError(f"X[{number}]: expected {width} columns, as {since}, got {array.shape[1]}")
    if width is None:
        raise ValueError("X: expected at least one set with columns, got empty lists alone")
    rows = np.concatenate([np.empty((0, width), np.float32), *(array for array in arrays if array is not None)])
    ptr = cut(np.array([0 if array is None else len(array) for array in arrays]))
    if not np.isfinite(rows).all():
        row = int(np.flatnonzero(~np.isfinite(rows).all(1))[0])
        number = int(np.searchsorted(ptr, row, side="right")) - 1
        raise ValueError(f"X[{number}]: expected finite numbers, got NaN or infinity in row {row - ptr[number]}")
    return PackedSets(rows, ptr)


def _as_list(X: Any) -> Sequence[Any]:
    """The sets of X, one by one."""
    expected = "X: expected a list of (n, d) arrays or one array of shape (sets, n, d), got"
    if isinstance(X, torch.Tensor):
        X = X.detach().cpu().numpy()
    elif hasattr(X, "to_numpy"):  # a column of a data frame
        X = X.to_numpy()
    if isinstance(X, list | tuple):
        return X
    if isinstance(X, np.ndarray) and (X.ndim == 3 or (X.ndim == 1 and X.dtype == object)):
        return list(X)
    found = f"{X.dtype} of shape {X.shape}" if isinstance(X, np.ndarray) else type(X).__name__
    raise ValueError(f"{expected} {found}")


def _as_rows(one: Any, name: str) -> np.ndarray | None:
    """One set as float32 (n, d); None for an empty list, whose d nobody knows."""
    if isinstance(one, torch.Tensor):
        one = one.detach().cpu().numpy()
    try:
        array = np.asarray(one)
        if array.shape == (0,):
            return None
        if array.dtype.kind not in "biufO":
            raise TypeError
        with np.errstate(over="ignore"):  # too large for float32 becomes infinite, which is refused later
            rows: np.ndarray = array.astype(np.float32)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected an array of numbers of shape (n, d), got {_kind(one)}") from None
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise ValueError(f"{name}: expected an array of shape (n, d), got the shape {rows.shape}")
    return rows


def _kind(one: Any) -> str:
    return f"{one.dtype} of shape {one.shape}" if isinstance(one, np.ndarray) else type(one).__name__
