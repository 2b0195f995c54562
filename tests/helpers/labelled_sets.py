"""Sets that a small network learns in a second."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

SMALL: dict[str, Any] = {"dim": 16, "depth": 1, "heads": 2, "max_epochs": 12, "batch_size": 8, "random_state": 0}


class Labelled(NamedTuple):
    sets: list[np.ndarray]  # (n_i, columns), n_i from 3 to 40
    labels: np.ndarray  # text
    centres: np.ndarray  # (sets, 2): what the first two columns are scattered around


def make_sets(count: int, columns: int, seed: int) -> Labelled:
    generator = np.random.default_rng(seed)
    labels = np.array(["left", "right", "top"])[np.arange(count) % 3]
    middle = {"left": (-1.5, 0.0), "right": (1.5, 0.0), "top": (0.0, 2.0)}
    centres = np.array([middle[label] for label in labels]) + generator.normal(scale=0.2, size=(count, 2))
    sets = []
    for centre in centres:
        rows = generator.normal(size=(generator.integers(3, 41), columns))
        rows[:, :2] += centre
        sets.append(rows)
    return Labelled(sets, labels, centres)
