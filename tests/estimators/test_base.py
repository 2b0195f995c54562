"""What all three estimators promise."""

from __future__ import annotations

import pickle
from io import BytesIO
from typing import Any

import joblib
import numpy as np
import pytest
import torch
from helpers.labelled_sets import SMALL, Labelled
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_get_params_invariance,
    check_no_attributes_set_in_init,
    check_parameters_default_constructible,
    check_set_params,
)

from sampled_transformer import SetClassifier, SetFeatures, SetRegressor, list_attention
from sampled_transformer.estimators.base import check_count, check_weights

ESTIMATORS = [SetClassifier, SetRegressor, SetFeatures]


def answer(estimator: Any, X: Any) -> np.ndarray:
    """What a fitted estimator says about sets, as numbers."""
    if isinstance(estimator, SetClassifier):
        return estimator.predict_proba(X)
    return estimator.predict(X) if isinstance(estimator, SetRegressor) else estimator.transform(X)


def target(kind: type, data: Labelled) -> np.ndarray:
    return data.centres[:, 0] if kind is SetRegressor else data.labels


@pytest.fixture(scope="module")
def fitted(train: Labelled) -> dict[type, Any]:
    return {kind: kind(**SMALL).fit(train.sets, target(kind, train)) for kind in ESTIMATORS}


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    "check",
    [
        check_get_params_invariance,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
        check_set_params,
    ],
    ids=lambda check: check.__name__,
)
def test_scikit_learns_own_checks_of_parameters(kind: type, check: Any) -> None:
    check(kind.__name__, kind())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_clone_repr_and_tags(kind: type) -> None:
    original = kind("dense", dim=24, positions=(0, 1))
    copy = clone(original)
    assert copy.get_params() == original.get_params()
    assert "attention='dense'" in repr(original)
    assert not original.__sklearn_tags__().input_tags.two_d_array


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("through", ["pickle", "joblib"])
def test_pickling(kind: type, through: str, fitted: dict[type, Any], test: Labelled) -> None:
    estimator = fitted[kind]
    if through == "pickle":
        copy = pickle.loads(pickle.dumps(estimator))
    else:
        stream = BytesIO()
        joblib.dump(estimator, stream)
        copy = joblib.load(BytesIO(stream.getvalue()))
    assert np.array_equal(answer(copy, test.sets), answer(estimator, test.sets))
    state = estimator.__getstate__()
    assert all(isinstance(value, np.ndarray) for value in state["network_"].values())
    assert isinstance(estimator.network_, torch.nn.Module)  # the original is untouched


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_random_state_repeats_a_fit_and_leaves_torch_alone(
    kind: type, fitted: dict[type, Any], train: Labelled, test: Labelled
) -> None:
    before = torch.random.get_rng_state()
    again = kind(**SMALL).fit(train.sets, target(kind, train))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert np.array_equal(answer(again, test.sets), answer(fitted[kind], test.sets))
    other = kind(**{**SMALL, "random_state": 1}).fit(train.sets, target(kind, train))
    assert not np.allclose(answer(other, test.sets), answer(fitted[kind], test.sets))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_answers_depend_neither_on_company_nor_on_the_order_of_rows(
    kind: type, fitted: dict[type, Any], test: Labelled
) -> None:
    estimator = fitted[kind]
    together = answer(estimator, test.sets)
    assert np.array_equal(answer(estimator, [one[::-1] for one in test.sets]), together)
    alone = np.concatenate([answer(estimator, [one]) for one in test.sets[:5]])
    assert np.allclose(alone, together[:5], atol=1e-5)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_empty_and_single_sets(kind: type, fitted: dict[type, Any], train: Labelled) -> None:
    assert np.isfinite(answer(fitted[kind], [np.zeros((0, 4)), [], np.ones((1, 4))])).all()
    sets = [np.zeros((0, 4)), np.zeros((1, 4)), *train.sets[:4]]
    estimator = kind(**{**SMALL, "max_epochs": 2}).fit(sets, target(kind, train)[:6])
    assert np.isfinite(answer(estimator, sets)).all()


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_errors(kind: type, fitted: dict[type, Any], train: Labelled) -> None:
    y = target(kind, train)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        answer(kind(), train.sets)
    with pytest.raises(ValueError, match=r"^X\[0\]: expected 4 columns, as in fit, got 3"):
        answer(fitted[kind], [np.zeros((5, 3))])
    with pytest.raises(ValueError, match=r"^y: expected 60 values, one per set of X, got 59"):
        kind().fit(train.sets, y[:-1])
    with pytest.raises(ValueError, match=r"^attention: expected one of .* got 'liner'; did you mean 'linear'"):
        kind("liner").fit(train.sets, y)
    with pytest.raises(ValueError, match=r"^positions: expected columns such as .* attention='knn' needs .* got None"):
        kind("knn").fit(train.sets, y)
    with pytest.raises(ValueError, match=r"^options: expected an option of the mechanism 'linear'"):
        kind(attention_options={"neighbours": 3}).fit(train.sets, y)
    with pytest.raises(ValueError, match=r"^heads: expected a divisor of dim=64, got 5"):
        kind(heads=5).fit(train.sets, y)


@pytest.mark.parametrize("attention", list_attention())
def test_every_mechanism_by_name(attention: str, train: Labelled, test: Labelled) -> None:
    classifier = SetClassifier(attention, positions=(0, 1, 2), **{**SMALL, "max_epochs": 3})
    classifier.fit(train.sets, train.labels)
    assert classifier.score(test.sets, test.labels) > 0.6


def test_several_mechanisms_are_averaged(train: Labelled, test: Labelled) -> None:
    both = SetClassifier(["dense", "none"], **{**SMALL, "max_epochs": 3}).fit(train.sets, train.labels)
    assert both.score(test.sets, test.labels) > 0.6
    assert len(both.network_.members) == 2
    with pytest.raises(ValueError, match=r"^attention: expected at least one mechanism, got none"):
        SetClassifier([]).fit(train.sets, train.labels)


def test_two_coordinates_and_options(train: Labelled) -> None:
    options = {**SMALL, "max_epochs": 1}
    SetClassifier("rotary", positions=[0, 1], **options).fit(train.sets, train.labels)
    SetClassifier("knn", positions=[0, 1], attention_options={"k": 2}, **options).fit(train.sets, train.labels)
    SetClassifier(["rotary", "none"], positions=[1], **options).fit(train.sets, train.labels)


def test_cross_validation_search_and_pipelines(train: Labelled, test: Labelled) -> None:
    scores = cross_val_score(SetClassifier(**SMALL), train.sets, train.labels, cv=2)
    assert scores.min() > 0.8
    search = GridSearchCV(SetClassifier(**SMALL), {"attention": ["linear", "none", ("linear", "none")]}, cv=2)
    search.fit(train.sets, train.labels)
    assert search.score(test.sets, test.labels) > 0.9
    pipeline = make_pipeline(SetFeatures(**SMALL), LogisticRegression())
    assert pipeline.set_params(setfeatures__dim=8).fit(train.sets, train.labels).score(test.sets, test.labels) > 0.9


def test_early_stopping_holds_out_a_part(train: Labelled) -> None:
    options = {**SMALL, "max_epochs": 60, "early_stopping": True, "n_iter_no_change": 3, "validation_fraction": 0.2}
    classifier = SetClassifier(**options).fit(train.sets, train.labels)
    assert classifier.n_iter_ == len(classifier.validation_scores_) < 60
    regressor = SetRegressor(**{**options, "max_epochs": 4}).fit(train.sets, train.centres)
    assert len(regressor.validation_scores_) == regressor.n_iter_
    features = SetFeatures(**{**options, "max_epochs": 3}).fit(train.sets, train.centres[:, 0])
    assert len(features.validation_scores_) == 3


def test_weights() -> None:
    assert check_weights(None, 3).tolist() == [1, 1, 1]
    assert check_weights([0, 1, 2], 3).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^sample_weight: expected 3 numbers, one per set, got the shape \(2,\)"):
        check_weights([1, 2], 3)
    for wrong in ([0, 0], [1, -1], [1, np.nan]):
        with pytest.raises(ValueError, match=r"^sample_weight: expected finite numbers"):
            check_weights(wrong, 2)


def test_counts() -> None:
    check_count([1, 2], 2)
    for y, count in (([1], 1), (5, 0), (None, 0)):
        with pytest.raises(ValueError, match=f"^y: expected 2 values, one per set of X, got {count}"):
            check_count(y, 2)
