"""The number to predict: standard units and back, what a file keeps, and errors against scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from helpers.numbers import TARGET, ellipsoids

from sampled_transformer.data import DataError, Pack
from sampled_transformer.inference.target import Target, error_figures, error_sums, target_of, written
from sampled_transformer.weights import Description, WeightsError

CLOUDS = np.random.default_rng(0).normal(size=(3, 4, 3))


def test_standard_units_and_back() -> None:
    pack = ellipsoids(20, 0)
    target = Target.of(pack)
    assert target is not None
    assert target.name == TARGET
    standard = target.standardised(pack)
    assert standard.labels is not None
    assert standard.labels.mean() == pytest.approx(0, abs=1e-9)
    assert standard.labels.std() == pytest.approx(1)
    answers = torch.tensor([0.0, 1.0])
    assert target.restored(answers).tolist() == pytest.approx([target.mean, target.mean + target.deviation], rel=1e-12)
    assert target_of(Description("basic", {}, (), target.notes()), "w") == target


def test_classes_have_no_target() -> None:
    assert Target.of(Pack.from_arrays(CLOUDS, labels=[0, 1, 1])) is None
    assert Target.of(Pack.from_arrays(CLOUDS)) is None
    assert target_of(Description("basic", {}), "w") is None


def test_large_numbers_lose_nothing_to_single_precision() -> None:
    labels = 1e9 + np.array([1.0, 2.0, 6.0])
    pack = Pack.from_arrays(CLOUDS, labels=labels)
    target = Target.of(pack)
    assert target is not None
    standard = target.standardised(pack).batch(slice(None)).labels
    assert standard is not None
    np.testing.assert_allclose(target.restored(standard).numpy() - 1e9, [1, 2, 6], atol=1e-5)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([2.5, 2.5, 2.5], "data: expected training labels that differ, got only 2.5"),
        ([0.0, 1e-200, 0], "data: expected training labels that differ, got only 0"),
        ([0.0, -1e200, 1], r"data: expected labels of at most 1e\+150, got 1e\+200"),
    ],
)
def test_labels_without_a_scale(labels: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Target.of(Pack.from_arrays(CLOUDS, labels=labels))


@pytest.mark.parametrize(
    "kept",
    [{}, {"name": "y", "mean": 0, "deviation": 0}, {"name": "y", "mean": math.nan, "deviation": 1}, {"name": "y"}],
)
def test_notes_that_do_not_describe_a_target(kept: object) -> None:
    with pytest.raises(WeightsError, match=r"w: expected the name, mean and deviation of the target in its notes, got"):
        target_of(Description("basic", {}, (), {"regression": kept}), "w")


@pytest.mark.parametrize("kept", [3, {"name": 3}, {"name": "y", "mean": "0", "deviation": 1}])
def test_notes_of_another_type(kept: object) -> None:
    with pytest.raises(WeightsError, match=r"w: expected .* in its note regression"):
        target_of(Description("basic", {}, (), {"regression": kept}), "w")


def test_figures_are_those_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    generator = torch.Generator().manual_seed(0)
    truth = torch.randn(40, generator=generator)
    answers = truth + 0.4 * torch.randn(40, generator=generator)
    padded = torch.cat([truth, torch.tensor([math.nan])])  # fills up a batch, and counts nowhere
    parts = error_sums(answers[:15], truth[:15]) + error_sums(torch.cat([answers, answers[:1]])[15:], padded[15:])
    found = error_figures(parts, deviation=3.0)
    assert found["mae"] == pytest.approx(3 * metrics.mean_absolute_error(truth, answers))
    assert found["rmse"] == pytest.approx(3 * metrics.mean_squared_error(truth, answers) ** 0.5)
    assert found["r2"] == pytest.approx(metrics.r2_score(truth, answers))


def test_equal_truths_have_an_r2() -> None:
    truth = torch.full((3,), 0.1)
    assert error_figures(error_sums(truth, truth))["r2"] == 1
    assert error_figures(error_sums(truth + 1, truth))["r2"] == 0


def test_figures_as_text() -> None:
    assert written({"test_mae": 1.5, "test_rmse": 2, "test_r2": 0.9}, "test_") == "MAE 1.5, RMSE 2, R2 0.9000"
