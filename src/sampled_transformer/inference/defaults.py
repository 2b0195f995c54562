"""The weights that commands use if none are named, and others to turn to. This module does not load torch."""

from __future__ import annotations

DEFAULT_WEIGHTS = "modelnet40-points"  # of `predict`, and what `--up auto` asks about folders
INITIAL_WEIGHTS = "modelnet40"  # of `features`, one row per point if asked; what `train` suggests to begin with
DEFAULT_SEGMENTER = "brick-parts"  # of `segment predict`


def reads_positions(weights: str) -> list[str]:
    """The shipped weights that know the same classes as these and read no normals, the default first."""
    from ..weights import describe_model, list_pretrained
    from .trained import view_of

    classes = describe_model(weights).classes
    found = []
    for name in sorted(list_pretrained(), key=lambda name: (name != DEFAULT_WEIGHTS, name)):
        other = describe_model(name)
        is_classifier = other.model not in ("mae", "segmenter") and not other.model.endswith("-mixture")
        if is_classifier and set(other.classes) == set(classes) and not view_of(other, name).normals:
            found.append(name)
    return found
