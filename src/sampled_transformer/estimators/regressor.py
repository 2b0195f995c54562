"""Sets with numbers to predict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from torch import Tensor
from torch.nn import functional

from .base import SetEstimator, check_count, check_weights
from .inputs import pack


class SetRegressor(RegressorMixin, SetEstimator):  # type: ignore[misc]
    """Predict one or more numbers per set: X is a list of (n_i, d) arrays, y is (sets,) or (sets, outputs).

    The loss is the squared error of the standardised targets; `score` is R². The network and the parameters are those
    of `SetClassifier`, without `label_smoothing` and `class_weight`.

    Attributes:
        n_features_in_: d.
        n_iter_: number of epochs.
        loss_curve_, validation_scores_: mean loss and, with early stopping, held-out R² of every epoch.
    """

    def __init__(
        self,
        attention: str | Sequence[str] = ("linear", "none"),
        *,
        attention_options: Mapping[str, Any] | None = None,
        positions: Sequence[int] | None = None,
        dim: int = 64,
        depth: int = 2,
        heads: int = 4,
        dropout: float = 0.1,
        learning_rate: float = 2e-3,
        weight_decay: float = 0.05,
        batch_size: int = 32,
        max_points: int | None = 128,
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        random_state: Any = None,
        device: str | None = None,
        verbose: bool = False,
    ) -> None:
        self.attention = attention
        self.attention_options = attention_options
        self.positions = positions
        self.dim = dim
        self.depth = depth
        self.heads = heads
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.batch_size = batch_size
        self.max_points = max_points
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SetRegressor:
        """Learn from sets X, a list of (n_i, d) arrays, and their targets y."""
        sets = pack(X)
        targets = check_targets(y, len(sets))
        self._is_single = targets.ndim == 1
        scaled, self.target_mean_, self.target_std_ = standardise(targets)
        weights = check_weights(sample_weight, len(sets))
        self._fit(sets, scaled, scaled.shape[1], squared_error, explained, weights)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The expected numbers of each set, (sets,) or (sets, outputs) as y was."""
        values: np.ndarray = self._outputs(X) * self.target_std_ + self.target_mean_
        return values[:, 0] if self._is_single else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def check_targets(y: Any, sets: int) -> np.ndarray:
    """Finite numbers, (sets,) or (sets, outputs)."""
    check_count(y, sets)
    try:
        targets = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("y: expected numbers, got others") from None
    if targets.ndim > 2 or targets.size == 0:
        raise ValueError(f"y: expected the shape (sets,) or (sets, outputs), got {targets.shape}")
    if not np.isfinite(targets).all():
        raise ValueError("y: expected finite numbers, got NaN or infinity")
    return targets


def standardise(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Targets as float32 (sets, outputs) with mean 0 and standard deviation 1, and what was taken out."""
    columns = targets.reshape(len(targets), -1)
    mean, std = columns.mean(0), columns.std(0)
    std = np.where(std > 0, std, 1.0)
    return ((columns - mean) / std).astype(np.float32), mean, std


def squared_error(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean squared error of every set for itself, (sets,)."""
    return functional.mse_loss(outputs, targets, reduction="none").mean(1)


def explained(outputs: np.ndarray, targets: np.ndarray) -> float:
    """R², or the negative error where a single set leaves it undefined."""
    if len(targets) < 2:
        return -float(np.square(outputs - targets).mean())
    return float(r2_score(targets, outputs))
