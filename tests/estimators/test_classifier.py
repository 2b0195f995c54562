from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.labelled_sets import Labelled

from sampled_transformer import SetClassifier
from sampled_transformer.estimators.classifier import accuracy, encode


def test_labels_are_learnt(train: Labelled, test: Labelled, small: dict[str, Any]) -> None:
    classifier = SetClassifier(**small).fit(train.sets, train.labels)
    assert classifier.classes_.tolist() == ["left", "right", "top"]
    assert classifier.n_features_in_ == 4
    assert classifier.n_iter_ == 12
    assert classifier.score(test.sets, test.labels) > 0.9
    probabilities = classifier.predict_proba(test.sets)
    assert probabilities.shape == (45, 3)
    assert np.allclose(probabilities.sum(1), 1)
    assert np.array_equal(classifier.predict(test.sets), classifier.classes_[probabilities.argmax(1)])
    assert np.allclose(classifier.predict_log_proba(test.sets), np.log(probabilities))


def test_weights_decide_between_equal_sets(small: dict[str, Any]) -> None:
    sets = [np.ones((3, 1))] * 20
    labels = [0, 1] * 10
    weighted = SetClassifier(**small).fit(sets, labels, sample_weight=[1, 9] * 10)
    assert weighted.predict_proba(sets)[0, 1] > 0.7
    by_class = SetClassifier(class_weight={0: 9, 1: 1}, **small).fit(sets, labels)
    assert by_class.predict_proba(sets)[0, 0] > 0.7
    uneven = [0] * 16 + [1] * 4
    balanced = SetClassifier(class_weight="balanced", **small).fit(sets, uneven)
    assert abs(balanced.predict_proba(sets)[0, 0] - 0.5) < 0.15
    assert SetClassifier(**small).fit(sets, uneven).predict_proba(sets)[0, 0] > 0.65


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a"] * 3, "y: expected at least 2 classes, got 1"),
        ([0.1, 0.2, 0.3], "Unknown label type: continuous"),
        ([[0, 1], [1, 0], [1, 1]], "Unknown label type|y should be a 1d array"),
    ],
)
def test_labels_that_do_not_work(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        encode(labels, 3)


def test_label_smoothing_is_a_share(train: Labelled) -> None:
    with pytest.raises(ValueError, match=r"^label_smoothing: expected a share from 0 to below 1, got 1"):
        SetClassifier(label_smoothing=1).fit(train.sets, train.labels)


def test_encoding_and_accuracy() -> None:
    numbers, classes = encode(["b", "a", "b"], 3)
    assert numbers.tolist() == [1, 0, 1]
    assert classes.tolist() == ["a", "b"]
    assert accuracy(np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), numbers) == pytest.approx(2 / 3)
