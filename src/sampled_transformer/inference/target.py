"""The number that a regression predicts, and how far answers are from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data import Pack
from ..data.errors import DataError
from ..support.printable import brief, printable
from ..weights import Description, WeightsError
from .notes import Section

LARGEST = 1e150  # the square of anything much larger overflows
NOTE = "regression"  # where the notes of a weights file keep the target


@dataclass(frozen=True)
class Target:
    """A number to predict, such as a volume. The network answers in standard units, (value - mean) / deviation.

    Args:
        name: What it measures.
        mean, deviation: Of the training split.
    """

    name: str
    mean: float
    deviation: float

    @classmethod
    def of(cls, pack: Pack) -> Target | None:
        """The target of a training split whose labels are numbers; None for classes."""
        if not pack.has_numbers or pack.labels is None:
            return None
        largest = np.abs(pack.labels).max()
        if largest > LARGEST:
            raise DataError(f"data: expected labels of at most {LARGEST:g}, got {largest:g}")
        deviation = float(pack.labels.std())
        if pack.labels.min() == pack.labels.max() or deviation == 0:
            raise DataError(f"data: expected training labels that differ, got only {pack.labels[0]:g}")
        return cls(pack.target_name or "label", float(pack.labels.mean()), deviation)

    def standardised(self, pack: Pack) -> Pack:
        """The pack with its labels in standard units."""
        assert pack.labels is not None
        return replace(pack, labels=(pack.labels - self.mean) / self.deviation)

    def restored(self, answers: Tensor) -> Tensor:
        """Answers of the network in the target's own unit, float64 on the CPU."""
        return answers.cpu().double() * self.deviation + self.mean

    def notes(self) -> dict[str, Any]:
        """What a weights file keeps of it."""
        return {NOTE: asdict(self)}


def target_of(description: Description, path: str | Path) -> Target | None:
    """The target of a trained network; None unless it is a regression."""
    kept = description.notes.get(NOTE)
    if kept is None:
        return None
    section = Section(description, NOTE, path)
    name, mean, deviation = section.text("name"), section.number("mean"), section.number("deviation")
    if name is None or mean is None or deviation is None or not math.isfinite(mean) or not 0 < deviation < math.inf:
        expected = "expected the name, mean and deviation of the target in its notes"
        raise WeightsError(f"{printable(path)}: {expected}, got {brief(str(kept))}")
    return Target(name, mean, deviation)


def error_sums(answers: Tensor, truth: Tensor) -> Tensor:
    """Sums over shapes, (5,): count, |error|, error^2, truth, truth^2. Sums of parts of a split can be added.

    A truth of NaN does not count; it fills up the batches of several processes.
    """
    wide = torch.float32 if truth.device.type == "mps" else torch.float64  # which has no double precision
    real = ~truth.isnan()
    truth = truth.to(wide).nan_to_num(0)
    errors = torch.where(real, answers.to(wide) - truth, 0)
    return torch.stack(
        [real.sum().to(wide), errors.abs().sum(), errors.square().sum(), truth.sum(), truth.square().sum()]
    )


def error_figures(sums: Tensor, deviation: float = 1.0) -> dict[str, float]:
    """MAE and RMSE in the unit of the target, and R^2 = 1 - sum error^2 / sum (truth - mean truth)^2.

    If all truths are equal, R^2 is 1 for answers without error and otherwise 0, as in scikit-learn.

    Args:
        sums: Of `error_sums`, in standard units.
        deviation: Of the target.
    """
    count, absolute, square, truth, truth_square = sums.tolist()
    total = truth_square - truth**2 / count
    r2 = float(square == 0) if total <= 1e-12 * truth_square else 1 - square / total
    return {"mae": deviation * absolute / count, "rmse": deviation * math.sqrt(square / count), "r2": r2}


def written(figures: Mapping[str, float], prefix: str = "") -> str:
    """Figures as text."""
    mae, rmse, r2 = (figures[f"{prefix}{name}"] for name in ("mae", "rmse", "r2"))
    return f"MAE {mae:.4g}, RMSE {rmse:.4g}, R2 {r2:.4f}"
