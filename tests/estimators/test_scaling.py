from __future__ import annotations

import numpy as np

from sampled_transformer.estimators.inputs import PackedSets, cut
from sampled_transformer.estimators.scaling import Scaling


def packed(rows: np.ndarray, sizes: list[int] | None = None) -> PackedSets:
    return PackedSets(rows.astype(np.float32), cut(np.array(sizes or [len(rows)])))


def test_columns_are_standardised_and_ranked() -> None:
    rows = np.random.default_rng(0).normal([100, -3], [20, 0.1], size=(5000, 2))
    columns = Scaling.fit(packed(rows)).columns(rows)
    assert columns.shape == (5000, 4)
    assert columns.dtype == np.float32
    assert np.allclose(columns[:, :2].mean(0), 0, atol=1e-3)
    assert np.allclose(columns[:, :2].std(0), 1, atol=1e-2)
    ranks = np.argsort(np.argsort(rows[:, 0])) / 4999 * 2 - 1
    assert np.abs(columns[:, 2] - ranks).max() < 0.02


def test_equal_values_get_the_middle_of_their_ranks() -> None:
    rows = np.array([0.0] * 60 + [1.0] * 40)[:, None]
    ranks = Scaling.fit(packed(rows)).columns(rows)[:, 1]
    assert np.allclose(ranks[:60], 0.6 - 1, atol=0.04)  # from -1 to 0.2
    assert np.allclose(ranks[60:], 0.2 + 0.4, atol=0.04)  # from 0.2 to 1


def test_absurd_values_and_constant_columns_stay_finite() -> None:
    rows = np.column_stack([np.full(50, 3.0), np.random.default_rng(0).normal(size=50)])
    columns = Scaling.fit(packed(rows)).columns(np.array([[3.0, 1e30], [-1e30, -1e30]]))
    assert np.abs(columns).max() == 5
    assert columns[0, 0] == 0
    assert columns[:, 3].tolist() == [1, -1]


def test_positions_keep_their_shape() -> None:
    rows = np.random.default_rng(0).normal(0, [10, 1, 4], size=(1000, 3))
    positions = Scaling.fit(packed(rows)).positions(rows, (0, 2))
    assert np.allclose(positions.mean(0), 0, atol=1e-3)
    assert np.isclose(positions[:, 0].std() / positions[:, 1].std(), rows[:, 0].std() / rows[:, 2].std(), rtol=1e-3)
    assert np.isclose(np.square(positions).sum(1).mean(), 1, rtol=1e-3)


def test_sizes_stay_in_the_range_of_the_training_sets() -> None:
    scaling = Scaling.fit(packed(np.zeros((30, 1)), [0, 10, 20]))
    sizes = scaling.sizes(np.array([0, 10, 20, 10_000]))
    assert sizes.shape == (4, 1)
    assert np.isclose(sizes[:3].mean(), 0, atol=1e-6)
    assert sizes[3] == sizes[2]
    equal = Scaling.fit(packed(np.zeros((30, 1)), [15, 15])).sizes(np.array([15, 3]))
    assert equal.tolist() == [[0], [0]]


def test_nothing_but_empty_sets() -> None:
    scaling = Scaling.fit(packed(np.zeros((0, 2)), [0, 0]))
    assert np.isfinite(scaling.columns(np.ones((3, 2)))).all()
