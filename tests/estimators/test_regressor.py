from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.labelled_sets import Labelled

from sampled_transformer import SetRegressor
from sampled_transformer.estimators.regressor import check_targets, explained, squared_error, standardise


def test_one_number_and_several(train: Labelled, test: Labelled, small: dict[str, Any]) -> None:
    one = SetRegressor(**small).fit(train.sets, 100 + 10 * train.centres[:, 0])
    assert one.predict(test.sets).shape == (45,)
    assert one.score(test.sets, 100 + 10 * test.centres[:, 0]) > 0.8
    both = SetRegressor(**small).fit(train.sets, train.centres)
    assert both.predict(test.sets).shape == (45, 2)
    assert both.score(test.sets, test.centres) > 0.8


def test_weights_decide_between_equal_sets(small: dict[str, Any]) -> None:
    sets = [np.ones((3, 1))] * 20
    regressor = SetRegressor(**small).fit(sets, [0.0, 1.0] * 10, sample_weight=[1, 9] * 10)
    assert regressor.predict(sets)[0] == pytest.approx(0.9, abs=0.15)


def test_a_target_that_never_changes(train: Labelled, small: dict[str, Any]) -> None:
    regressor = SetRegressor(**small).fit(train.sets, np.full(60, 7.0))
    assert np.abs(regressor.predict(train.sets) - 7).max() < 0.5


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", "b"], "y: expected numbers"),
        ([1.0, np.nan], "y: expected finite numbers, got NaN or infinity"),
        (np.zeros((2, 1, 1)), r"y: expected the shape \(sets,\) or \(sets, outputs\), got \(2, 1, 1\)"),
        (np.zeros((2, 0)), "y: expected the shape"),
    ],
)
def test_targets_that_do_not_work(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        check_targets(y, 2)


def test_standardise_loss_and_score() -> None:
    scaled, mean, std = standardise(np.array([1.0, 3.0]))
    assert scaled.tolist() == [[-1], [1]]
    assert (mean.item(), std.item()) == (2, 1)
    assert squared_error(torch.tensor([[1.0, 3.0]]), torch.zeros(1, 2)).tolist() == [5]
    assert explained(scaled, scaled) == 1
    assert explained(np.array([[3.0]]), np.array([[1.0]])) == -4
