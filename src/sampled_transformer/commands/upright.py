"""The option --up: an axis, or "auto", which asks a network about a folder of shapes and says what it found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ..training.settings import Settings, Up
from .messages import remark

Own = TypeVar("Own", bound=Settings)


def settled_up(up: Up | None, folder: Path | None) -> Up | None:
    """The axis that is up in a folder of shapes, or in other data if the folder is None."""
    if up != "auto":
        return up
    if folder is None:
        raise ValueError("up: expected an axis, because only a folder of shapes can be asked about, got auto")
    from ..inference.upright import folder_up

    axis, why = folder_up(folder)  # None leaves every file to its format
    remark("note", [why])
    return axis


def with_settled_up(settings: Own) -> Own:
    """The settings of a run with an axis instead of "auto", so that the run remembers it."""
    if settings.data.up != "auto":
        return settings
    from ..data.repack import shapes_below

    up = settled_up("auto", shapes_below(settings.data.source, settings.data.root))
    return replace(settings, data=replace(settings.data, up=up))
