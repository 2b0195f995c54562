"""The estimators' parameters: what each may be, and what None stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from ..inference.trained import pick_device

STEPS = 1200  # of the optimiser, if `max_epochs` is not given
FEWEST_EPOCHS, MOST_EPOCHS = 10, 150

AT_LEAST_ONE = ("dim", "depth", "heads", "batch_size", "n_iter_no_change")
AT_LEAST_ONE_OR_NONE = ("max_points", "max_epochs")


def check_settings(estimator: Any) -> None:
    """Refuse a parameter out of its range; those of the mechanism are checked by the mechanism."""
    for name in AT_LEAST_ONE:
        _check(name, getattr(estimator, name), Integral, 1, math.inf, "a whole number of at least 1")
    for name in AT_LEAST_ONE_OR_NONE:
        if getattr(estimator, name) is not None:
            _check(name, getattr(estimator, name), Integral, 1, math.inf, "a whole number of at least 1, or None")
    tiny = math.ulp(0.0)
    if estimator.max_seconds is not None:
        _check("max_seconds", estimator.max_seconds, Real, tiny, math.inf, "a number above 0, or None")
    below_one = math.nextafter(1, 0)
    _check("dropout", estimator.dropout, Real, 0, below_one, "a share from 0 to below 1")
    _check("validation_fraction", estimator.validation_fraction, Real, tiny, below_one, "a share between 0 and 1")
    _check("learning_rate", estimator.learning_rate, Real, tiny, math.inf, "a number above 0")
    _check("weight_decay", estimator.weight_decay, Real, 0, math.inf, "a number of at least 0")
    pick_device(estimator.device)


def _check(name: str, value: Any, kind: type, least: float, most: float, expected: str) -> None:
    if not isinstance(value, kind) or isinstance(value, bool) or not least <= value <= most:  # type: ignore[operator]
        raise ValueError(f"{name}: expected {expected}, got {value!r}")


def find_positions(positions: Sequence[int] | None, columns: int) -> tuple[int, ...] | None:
    """The columns that are positions, counted from 0."""
    if positions is None:
        return None
    expected = f"positions: expected different columns from 0 to {columns - 1}, or None"
    try:
        chosen = tuple(int(column) for column in positions)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {positions!r}") from None
    if not chosen or len(set(chosen)) < len(chosen) or not all(0 <= column < columns for column in chosen):
        raise ValueError(f"{expected}, got {positions!r}")
    return chosen


def count_epochs(sets: int, batch_size: int) -> int:
    """Epochs of about 1,200 steps; more passes over a few sets teach nothing, fewer over many are too few."""
    steps = math.ceil(sets / batch_size)
    return min(max(math.ceil(STEPS / steps), FEWEST_EPOCHS), MOST_EPOCHS)
