"""The weights that commands use if none are named, and others to turn to. This module does not load torch."""

from __future__ import annotations

DEFAULT_WEIGHTS = "modelnet40-points"  # of `predict`, and what `--up auto` asks about folders
DEFAULT_TWIN = "modelnet40-robust"  # `predict` asks it too; see `Predictor` for which one answers
INITIAL_WEIGHTS = "modelnet40"  # of `features`, one row per point if asked; what `train` suggests to begin with
DEFAULT_SEGMENTER = "brick-parts"  # of `segment predict`


def reads_positions(weights: str) -> list[str]:
    """The shipped weights that know the same classes as these and read no normals, the default first."""
    from ..weights import describe_model
    from .trained import view_of

    return [name for name in _same_classes(weights) if not view_of(describe_model(name), name).normals]


def robust_twins(weights: str) -> list[str]:
    """Other shipped weights that know the same classes as these and were trained on corrupted shapes."""
    from ..weights import describe_model

    def is_robust(name: str) -> bool:
        return str(describe_model(name).notes.get("data", {}).get("preset", "")).startswith("robust")

    return [name for name in _same_classes(weights) if name != weights and is_robust(name)]


def _same_classes(weights: str) -> list[str]:
    """The shipped classifiers that know the same classes as these weights, the default first."""
    from ..weights import describe_model, list_pretrained
    from .card import is_classifier

    classes = set(describe_model(weights).classes)
    names = sorted(list_pretrained(), key=lambda name: (name != DEFAULT_WEIGHTS, name))
    found = []
    for name in names:
        other = describe_model(name)
        if is_classifier(other, name) and set(other.classes) == classes:
            found.append(name)
    return found
