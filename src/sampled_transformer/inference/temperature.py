"""One temperature per classifier, stored with its weights, that makes its probabilities as modest as they should be.

Probabilities are p = mean_s softmax(z_s / T): the logits z_s of every pass are divided by the temperature T before the
softmax, and the mean over passes comes after it. So one pass, every pass of an average, and an exported network, which
knows no other passes, all get the same temperature, and one pass gets the same answers with every T.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from ..support.printable import brief, printable
from ..weights import Description, WeightsError

NOTE = "calibration"  # where the notes of a weights file keep the temperature, and what it was fitted on
LEAST, MOST = 0.05, 20.0
DEVIATION = 0.5  # of log T before we have seen any shape; it matters if there are few
STEPS = 60  # of the golden section: far more than float64 can tell apart


def fit_temperature(logits: Tensor, labels: Tensor) -> float:
    """The temperature with the smallest log loss on shapes that the network was not trained on (Guo et al., 2017).

    The loss is the mean of two: that of one pass and that of the mean over all passes, because users ask both ways. A
    few shapes that all are classified correctly would want T = 0. So we add (log T)^2 / (2 DEVIATION^2 shapes), which
    is nothing next to hundreds of shapes.

    Args:
        logits: (passes, shapes, classes).
        labels: (shapes,).
    """
    logits, shapes = logits.double(), len(labels)

    def loss(log_temperature: float) -> float:
        passes = (logits / math.exp(log_temperature)).log_softmax(2)
        mean = passes.logsumexp(0) - math.log(len(passes))
        truth = torch.stack([passes[0], mean])[:, torch.arange(shapes), labels]
        return float(-truth.mean()) + (log_temperature / DEVIATION) ** 2 / (2 * shapes)

    low, high = math.log(LEAST), math.log(MOST)
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(STEPS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if loss(left) <= loss(right):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)


def temperature_of(description: Description, path: str | Path) -> float:
    """The temperature of a trained classifier; 1 if none was fitted."""
    kept = description.notes.get(NOTE)
    if kept is None:
        return 1.0
    value = kept.get("temperature") if isinstance(kept, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not LEAST <= value <= MOST:
        expected = f"expected a temperature of {LEAST:g} to {MOST:g} in its notes"
        raise WeightsError(f"{printable(path)}: {expected}, got {brief(str(kept))}")
    return float(value)
