from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.labelled_sets import Labelled

from sampled_transformer import SetFeatures


def test_features_and_their_names(train: Labelled, small: dict[str, Any]) -> None:
    features = SetFeatures(**small).fit(train.sets, train.labels)
    rows = features.transform(train.sets)
    assert rows.shape == (60, 98)
    assert features.get_feature_names_out()[-1] == "setfeatures97"
    assert np.array_equal(SetFeatures(**small).fit_transform(train.sets, train.labels), rows)


def test_without_targets_nothing_is_trained(train: Labelled, small: dict[str, Any]) -> None:
    features = SetFeatures(**small).fit(train.sets)
    assert not hasattr(features, "n_iter_")
    assert np.isfinite(features.transform(train.sets)).all()
    again = SetFeatures(**small).fit(train.sets)
    assert np.array_equal(again.transform(train.sets), features.transform(train.sets))


@pytest.mark.parametrize(
    ("task", "whole", "outputs"),
    [("auto", True, 5), ("auto", False, 1), ("regression", True, 1), ("classification", True, 5)],
)
def test_the_task_follows_from_the_targets_or_is_given(
    task: str, whole: bool, outputs: int, train: Labelled, small: dict[str, Any]
) -> None:
    y = np.arange(60) % 5 if whole else np.linspace(0.1, 2, 60)
    features = SetFeatures(task=task, **{**small, "max_epochs": 1}).fit(train.sets, y)
    assert features.network_options_["outputs"] == outputs


def test_unknown_task(train: Labelled) -> None:
    with pytest.raises(ValueError, match=r"^task: expected one of auto, classification, regression, got 'rank'"):
        SetFeatures(task="rank").fit(train.sets, train.labels)
