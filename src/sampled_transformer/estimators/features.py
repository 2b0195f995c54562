"""Sets as rows of features, for any other estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from torch import Tensor

from .base import SetEstimator, check_count, check_weights
from .classifier import accuracy, cross_entropy, encode
from .inputs import pack
from .regressor import check_targets, explained, squared_error, standardise
from .scaling import Scaling

TASKS = ("auto", "classification", "regression")


class SetFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SetEstimator):  # type: ignore[misc]
    """Turn each set into one row of features: X, a list of (n_i, d) arrays, -> (sets, features).

    A row is what the head of the network reads, 3 dim + 1 features: the mean, the maximum and the standard deviation of
    the last block's features over the set, normalised, and the logarithm of its size. With several mechanisms, the rows
    of their networks stand side by side.

    With y, `fit` trains the network to predict y and keeps all but the head. Without y, nothing is trained: the columns
    are standardised and the weights stay random, which is a baseline, no more.

    Args:
        task: what y holds, "classification" or "regression"; "auto" takes numbers with a fractional part for
            regression and everything else for labels.
        others: as in `SetClassifier`.
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
        task: str = "auto",
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
        self.task = task
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SetFeatures:
        """Learn features from sets X, a list of (n_i, d) arrays, that help to predict y."""
        sets = pack(X)
        if self.task not in TASKS:
            raise ValueError(f"task: expected one of {', '.join(TASKS)}, got {self.task!r}")
        weights = check_weights(sample_weight, len(sets))
        if y is None:
            seed = self._begin(sets)
            self.scaling_ = Scaling.fit(sets)
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                self._build(1)
            return self
        check_count(y, len(sets))
        task = self.task
        if task == "auto":
            task = "regression" if type_of_target(y).startswith("continuous") else "classification"
        self._is_classification = task == "classification"
        if self._is_classification:
            numbers, classes = encode(y, len(sets))
            self._fit(sets, numbers, len(classes), cross_entropy(0.1), accuracy, weights)
        else:
            targets, _, _ = standardise(check_targets(y, len(sets)))
            self._fit(sets, targets, targets.shape[1], squared_error, explained, weights)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The features of each set, (sets, features)."""
        return self._outputs(X, pooled=True)

    @property
    def _n_features_out(self) -> int:
        return len(self.network_options_["attention"]) * (3 * int(self.network_options_["dim"]) + 1)

    def _finish(self, outputs: Tensor) -> Tensor:
        return outputs.softmax(-1) if self._is_classification else outputs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags
