"""Sets with class labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn import functional

from .base import SetEstimator, check_count, check_weights
from .inputs import pack


class SetClassifier(ClassifierMixin, SetEstimator):  # type: ignore[misc]
    """Classify sets of rows: X is a list of (n_i, d) arrays, y has one label per set.

    The network embeds every row, mixes the rows of a set in transformer blocks, pools them by mean, maximum and
    standard deviation, and reads the result with a small head. Columns are standardised inside. The order of the rows
    does not matter, and neither do the other sets in a call.

    Args:
        attention: name of the mechanism, see `list_attention`; or several names, for as many networks side by side
            whose answers are averaged. The default joins one network with linear attention and one without attention:
            which of the two is better depends on the data.
        attention_options: further options of the mechanism.
        positions: columns that are coordinates in space, such as (0, 1, 2). Mechanisms that look at positions need
            them (knn, rotary, stratified, summed); all columns are features in any case.
        dim, depth, heads: width, number and heads of the blocks.
        dropout: share of features dropped in the head.
        learning_rate, weight_decay: of AdamW. The rate rises, then falls to zero along a cosine.
        batch_size: sets per step.
        max_points: rows of a set that a step sees, drawn anew each time. A prediction cuts larger sets into random
            parts of about this size and averages their probabilities. None: always all rows.
        max_epochs: passes over the sets (default: about 1,200 steps, at most 150 passes).
        max_seconds: stop training after this time; the learning rate falls accordingly. Such a fit depends on the
            speed of the machine.
        early_stopping: hold out a part of the sets, stop when its score no longer rises, and keep the best epoch.
        validation_fraction: the share held out.
        n_iter_no_change: epochs without a better score before stopping.
        label_smoothing: share of a label that is spread over all classes.
        class_weight: "balanced", or a weight per label, as elsewhere in scikit-learn.
        random_state: an integer makes the fit repeatable.
        device: where to run (default: GPU if available).
        verbose: print a line per epoch.

    Attributes:
        classes_: the labels.
        n_features_in_: d.
        n_iter_: number of epochs.
        loss_curve_, validation_scores_: mean loss and, with early stopping, held-out accuracy of every epoch.
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
        label_smoothing: float = 0.1,
        class_weight: Mapping[Any, float] | str | None = None,
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
        self.label_smoothing = label_smoothing
        self.class_weight = class_weight
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SetClassifier:
        """Learn from sets X, a list of (n_i, d) arrays, and their labels y (sets,)."""
        sets = pack(X)
        numbers, self.classes_ = encode(y, len(sets))
        smoothing = self.label_smoothing
        if not 0 <= smoothing < 1:
            raise ValueError(f"label_smoothing: expected a share from 0 to below 1, got {smoothing!r}")
        weights = check_weights(sample_weight, len(sets))
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, self.classes_[numbers])
        self._fit(sets, numbers, len(self.classes_), cross_entropy(smoothing), accuracy, weights)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, (sets, classes), in the order of `classes_`."""
        return self._outputs(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithm of `predict_proba`."""
        logarithms: np.ndarray = np.log(self.predict_proba(X))
        return logarithms

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each set, (sets,)."""
        check_is_fitted(self, "network_")
        labels: np.ndarray = self.classes_[self.predict_proba(X).argmax(1)]
        return labels

    def _finish(self, outputs: Tensor) -> Tensor:
        return outputs.softmax(-1)


def encode(y: Any, sets: int) -> tuple[np.ndarray, np.ndarray]:
    """The number of each label, int64 (sets,), and the labels in order."""
    check_count(y, sets)
    check_classification_targets(y)
    classes, numbers = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y: expected at least 2 classes, got 1 ({classes[0]!r})")
    return numbers.astype(np.int64), classes


def cross_entropy(smoothing: float) -> Any:
    """The loss of every set for itself, as `SetEstimator` takes it."""

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(outputs, targets, reduction="none", label_smoothing=smoothing)

    return loss


def accuracy(probabilities: np.ndarray, targets: np.ndarray) -> float:
    return float((probabilities.argmax(1) == targets).mean())
