"""What the three estimators share: parameters, fitting, prediction in parts, and pickling as plain arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from ..inference.trained import pick_device
from .inputs import PackedSets, pack
from .network import SetEnsemble
from .scaling import Scaling
from .settings import check_settings, count_epochs, find_positions
from .training import Examples, Plan, evaluate, train

Loss = Callable[[Tensor, Tensor], Tensor]  # outputs and targets -> one loss per set
Score = Callable[[np.ndarray, np.ndarray], float]  # outputs and targets -> larger is better


class SetEstimator(BaseEstimator):  # type: ignore[misc]
    """A network on sets in the dress of scikit-learn. `SetClassifier` describes the parameters."""

    # scikit-learn reads the parameters off the signature of __init__, so each estimator writes its own.
    attention: str | Sequence[str]
    attention_options: Mapping[str, Any] | None
    positions: Sequence[int] | None
    dim: int
    depth: int
    heads: int
    dropout: float
    learning_rate: float
    weight_decay: float
    batch_size: int
    max_points: int | None
    max_epochs: int | None
    max_seconds: float | None
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    random_state: Any
    device: str | None
    verbose: bool

    def _fit(
        self, sets: PackedSets, targets: np.ndarray, outputs: int, loss: Loss, score: Score, weights: np.ndarray
    ) -> None:
        """Train a network with so many outputs. `targets` has one row per set, as `loss` and `score` take them."""
        seed = self._begin(sets)
        learnt, held_out = np.arange(len(sets)), None
        if self.early_stopping:
            groups = targets if targets.dtype.kind == "i" else None
            learnt, held_out = train_test_split(
                learnt, test_size=self.validation_fraction, stratify=groups, random_state=seed
            )
        self.scaling_ = Scaling.fit(sets.select(learnt))
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._build(outputs)
            examples = self._examples(sets.select(learnt))
            goal = torch.from_numpy(targets[learnt])
            share = torch.from_numpy((weights[learnt] / (weights[learnt].mean() or 1.0)).astype(np.float32))

            def mean_loss(values: Tensor, numbers: Tensor) -> Tensor:
                each = loss(values, goal[numbers].to(values.device))
                return (each * share[numbers].to(values.device)).mean()

            validate = None
            if held_out is not None:
                validate = self._validation(sets.select(held_out), targets[held_out], score)
            plan = Plan(
                learning_rate=self.learning_rate,
                weight_decay=self.weight_decay,
                batch_size=self.batch_size,
                max_points=self.max_points,
                max_epochs=self.max_epochs or count_epochs(len(learnt), self.batch_size),
                max_seconds=self.max_seconds,
                n_iter_no_change=self.n_iter_no_change,
                verbose=bool(self.verbose),
            )
            draw = np.random.default_rng(seed)
            self.loss_curve_, self.validation_scores_ = train(self.network_, examples, mean_loss, plan, draw, validate)
        self.n_iter_ = len(self.loss_curve_)

    def _validation(self, sets: PackedSets, targets: np.ndarray, score: Score) -> Callable[[], float]:
        """A function that gives the score of the network, as it is now, on a held-out part."""
        examples = self._examples(sets)
        return lambda: score(evaluate(self.network_, examples, self.max_points, self._finish), targets)

    def _begin(self, sets: PackedSets) -> int:
        """Check the parameters against the sets, and draw the seed of this fit."""
        check_settings(self)
        self.n_features_in_ = sets.rows.shape[1]
        self.positions_ = find_positions(self.positions, self.n_features_in_)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _build(self, outputs: int) -> None:
        """Create the network, with fresh weights."""
        names = (self.attention,) if isinstance(self.attention, str) else tuple(self.attention)
        if not names:
            raise ValueError("attention: expected at least one mechanism, got none")
        self.network_options_ = {
            "inputs": 2 * self.n_features_in_,
            "outputs": outputs,
            "dim": self.dim,
            "depth": self.depth,
            "heads": self.heads,
            "attention": names,
            "dropout": self.dropout,
            "attention_options": [self._options_of(name) for name in names],
        }
        self.network_ = SetEnsemble(**self.network_options_)
        if self.network_.needs_positions and self.positions_ is None:
            what = f"columns such as (0, 1, 2), because attention={self.attention!r} needs positions"
            raise ValueError(f"positions: expected {what}, got None")
        self.network_.to(pick_device(self.device))

    def _options_of(self, name: str) -> dict[str, Any]:
        """The options of one mechanism: "none" has none, and some want to know how many columns are positions."""
        options = {} if name == "none" else dict(self.attention_options or {})
        if name in ("knn", "rotary") and self.positions_ is not None:
            options.setdefault("coordinates", len(self.positions_))
        return options

    def _examples(self, sets: PackedSets) -> Examples:
        scaling: Scaling = self.scaling_
        return Examples(
            sets=PackedSets(scaling.columns(sets.rows), sets.ptr),
            sizes=scaling.sizes(sets.sizes),
            positions=None if self.positions_ is None else scaling.positions(sets.rows, self.positions_),
        )

    def _finish(self, outputs: Tensor) -> Tensor:
        """What is averaged over the parts of a large set."""
        return outputs

    def _outputs(self, X: Any, *, pooled: bool = False) -> np.ndarray:
        """The network's answer to each set of X, (sets, outputs)."""
        check_is_fitted(self, "network_")
        sets = pack(X, self.n_features_in_).ordered()
        self.network_.to(pick_device(self.device))
        finish = torch.nn.Identity() if pooled else self._finish
        return evaluate(self.network_, self._examples(sets), self.max_points, finish, pooled=pooled)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "network_" in state:
            state["network_"] = {name: value.cpu().numpy() for name, value in state["network_"].state_dict().items()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "network_" in state:
            self.network_ = SetEnsemble(**self.network_options_)
            self.network_.load_state_dict({name: torch.tensor(value) for name, value in state["network_"].items()})
            self.network_.eval()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = True
        tags.non_deterministic = self.random_state is None
        return tags


def check_weights(sample_weight: Any, sets: int) -> np.ndarray:
    """One finite weight per set that is not negative; ones by default."""
    if sample_weight is None:
        return np.ones(sets)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (sets,):
        raise ValueError(f"sample_weight: expected {sets} numbers, one per set, got the shape {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any() or not math.isfinite(weights.sum()) or not weights.any():
        raise ValueError("sample_weight: expected finite numbers of at least 0 that are not all 0, got others")
    return weights


def check_count(y: Any, sets: int) -> None:
    """Refuse targets that are not one per set."""
    count = np.shape(y)[0] if np.ndim(y) else 0
    if count != sets:
        raise ValueError(f"y: expected {sets} values, one per set of X, got {count}")
