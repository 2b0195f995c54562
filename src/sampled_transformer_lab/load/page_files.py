"""Files that visitors upload under load, good and bad, by number: the same number gives the same file."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sampled_transformer.data.files import READERS
from sampled_transformer.view.server import LARGEST_UPLOAD

from ..fuzz import mutation

GOOD, LARGE, BROKEN, UNKNOWN, EMPTY, TOO_LARGE = "good", "large", "broken", "unknown format", "empty", "too large"
KINDS = (*[GOOD] * 4, *[BROKEN] * 3, UNKNOWN, EMPTY, TOO_LARGE)
LARGE_EVERY = 50  # one upload of so many is a cloud of `LARGE_POINTS`
LARGE_POINTS = 300_000


class Upload(NamedTuple):
    """A file to upload."""

    kind: str
    suffix: str
    content: bytes
    claimed: int  # bytes that the page says it will send


def make_upload(number: int, seeds: Mapping[str, Sequence[bytes]], seed: int = 0) -> Upload:
    """Upload `number`, of a random kind and format."""
    random = np.random.default_rng((seed, number))
    kind = LARGE if number % LARGE_EVERY == LARGE_EVERY - 1 else str(random.choice(KINDS))
    name = str(random.choice(sorted(kind[1:] for kind in READERS if kind[1:] in seeds)))
    if kind == LARGE:
        return _upload(kind, ".npy", _cloud(number))
    if kind == GOOD:
        own = seeds[name]
        return _upload(kind, f".{name}", own[number % len(own)])
    if kind == BROKEN:
        return _upload(kind, f".{name}", mutation({name: seeds[name]}, seed, number)[1])
    if kind == UNKNOWN:
        return _upload(kind, (".exe", ".zip", "", ".html")[number % 4], b"MZ\x00\x01 what is this")
    if kind == EMPTY:
        return _upload(kind, f".{name}", b"")
    return Upload(kind, f".{name}", bytes(2**20), LARGEST_UPLOAD + (1 + number) * 2**20)


def _upload(kind: str, suffix: str, content: bytes) -> Upload:
    return Upload(kind, suffix, content, len(content))


def _cloud(number: int) -> bytes:
    file = io.BytesIO()
    np.save(file, np.random.default_rng(number).normal(size=(LARGE_POINTS, 3)).astype(np.float32))
    return file.getvalue()
