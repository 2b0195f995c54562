"""A digest of the data of a run, so that a run does not continue on other data without a word."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..data import Pack

Digest = dict[str, dict[str, Any]]
WORDS = {"train": "training", "validation": "validation", "test": "test"}


def data_digest(splits: Mapping[str, Pack | None]) -> Digest:
    """Per split: the number of shapes, and a digest of each of its arrays, such as points, labels and classes.

    The names of the files are left out, because training does not read them.
    """
    return {name: _pack_digest(pack) for name, pack in splits.items() if pack is not None}


def _pack_digest(pack: Pack) -> dict[str, Any]:
    digests = {name: _sha256(array) for name, array in pack.arrays().items() if name != "names"}
    return {"shapes": len(pack), **digests}


def _sha256(array: np.ndarray) -> str:
    found = hashlib.sha256(repr((array.dtype.str, array.shape)).encode())
    found.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return found.hexdigest()


def combined(digest: Digest) -> str:
    """One digest of all splits."""
    return hashlib.sha256(
        repr(sorted((name, sorted(one.items())) for name, one in digest.items())).encode()
    ).hexdigest()


def changes(before: Digest, now: Digest) -> list[str]:
    """What differs, in words: "the training split has 34 shapes instead of 33", "other labels in the test split"."""
    found = []
    for split in dict.fromkeys((*before, *now)):
        one, two = before.get(split), now.get(split)
        shown = f"the {WORDS.get(split, split)} split"
        if one is None or two is None:
            found.append(f"{shown} is {'new' if one is None else 'missing'}")
        elif one["shapes"] != two["shapes"]:
            found.append(f"{shown} has {two['shapes']:,} shapes instead of {one['shapes']:,}")
        else:
            parts = [name for name in dict.fromkeys((*one, *two)) if one.get(name) != two.get(name)]
            if parts:
                found.append(f"{shown} has other {' and '.join(part for part in parts if part != 'ptr') or 'points'}")
    return found
