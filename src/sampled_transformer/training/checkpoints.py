"""The last two checkpoints of a run: when they are written, and which one a run continues from.

This module loads torch only when a checkpoint is read or written.
"""

from __future__ import annotations

import io
import os
import re
import time
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ..support.atomic import atomic_write
from ..support.printable import printable

LAST, PREVIOUS, DAMAGED = "last.ckpt", "previous.ckpt", "damaged.ckpt"
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}

Found = TypeVar("Found")


@dataclass(frozen=True)
class Every:
    """The time between two checkpoints: a number of seconds or of steps, whichever is given."""

    seconds: float | None = None
    steps: int | None = None

    @classmethod
    def read(cls, value: str | int, name: str) -> Every:
        """From "600s", "10m", "2h" or "500 steps"; a number alone means seconds."""
        found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smh]?|steps?)", str(value).strip())
        if found is not None and float(found[1]) > 0:
            if found[2] not in ("step", "steps"):
                return cls(seconds=float(found[1]) * UNITS[found[2] or "s"])
            if float(found[1]).is_integer():
                return cls(steps=int(float(found[1])))
        raise ValueError(f"{name}: expected a time or a number of steps, such as 600s, 10m or 500 steps, got {value!r}")


class Timer:
    """Says when the next checkpoint is due."""

    def __init__(self, every: Every) -> None:
        self.every = every
        self.restart(0)

    def restart(self, step: int) -> None:
        """Count from now; `step` is the number of steps done."""
        self._when, self._step = time.monotonic(), step

    def is_due(self, step: int) -> bool:
        if self.every.steps is not None:
            return step - self._step >= self.every.steps
        return time.monotonic() - self._when >= (self.every.seconds or 0.0)


def write_checkpoint(path: str | Path, state: Mapping[str, Any]) -> None:
    """Save tensors and plain values. The checkpoint before becomes previous.ckpt, if this is last.ckpt."""
    import torch

    path = Path(path)
    buffer = io.BytesIO()  # a full disk is then an OSError of `write`, not an error of torch's own
    torch.save(state, buffer)
    with atomic_write(path, path.with_name(PREVIOUS) if path.name == LAST else None) as file:
        file.write(buffer.getbuffer())


def read_checkpoint(path: str | Path | io.BytesIO, map_location: Any = "cpu") -> dict[str, Any]:
    """Load tensors and plain values, and nothing that could run code."""
    import torch

    state: dict[str, Any] = torch.load(path, map_location=map_location, weights_only=True)
    return state


def find_checkpoint(folder: Path, use: Callable[[dict[str, Any]], Found]) -> tuple[Path, Found] | None:
    """The newest checkpoint of a run that is not damaged, and what `use` makes of it; None if there is none at all.

    `use` raises a ValueError to refuse a whole checkpoint, such as one of another network. Any other error means that
    the file is damaged, and so do the errors of the reader.
    """
    reasons = []
    for name in (LAST, PREVIOUS):
        path = folder / name
        if not path.is_file():
            continue
        try:
            found = use(_read_whole(path))
        except OSError as error:
            raise OSError(f"{printable(path)}: {error.strerror or error}; expected a checkpoint of this run") from None
        except ValueError as error:
            raise ValueError(f"{printable(path)}: {error}") from None
        except Exception as error:  # a damaged file can make the reader raise anything
            what = str(error) if isinstance(error, _Damaged) else type(error).__name__
            reasons.append(f"{printable(path)}: damaged checkpoint ({what})")
            continue
        if reasons:
            warnings.warn(f"{reasons[0]}, kept as {DAMAGED}; continuing from {name}", stacklevel=2)
        return path, found
    if reasons:
        both = "" if len(reasons) == 1 else f"; so is {PREVIOUS}"
        raise ValueError(f"{reasons[0]}{both}; expected one of this run")
    return None


class _Damaged(Exception):
    """A file that torch cannot read, or should not."""


def _read_whole(path: Path) -> dict[str, Any]:
    """Read a checkpoint after a look at its check sums, which torch writes and does not compare."""
    data = io.BytesIO(path.read_bytes())  # an error of the disk is not damage
    try:
        with zipfile.ZipFile(data) as archive:
            wrong = archive.testzip()
        if wrong is None:
            data.seek(0)
            return read_checkpoint(data)
    except Exception as error:  # ValueError among them, which would be taken for a refusal
        raise _Damaged(type(error).__name__) from None
    raise _Damaged("wrong check sum")


def set_aside_damaged(folder: Path, used: Path) -> None:
    """Rename a damaged last.ckpt, so that it never takes the place of the good one that we continue from."""
    if used.name == PREVIOUS and (folder / LAST).is_file():
        os.replace(folder / LAST, folder / DAMAGED)
