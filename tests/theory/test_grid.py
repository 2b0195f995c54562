from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from sampled_transformer.theory.grid import (
    Setting,
    all_inputs,
    embedding,
    embedding_from_coordinates,
    quantise,
    quantise_by_layers,
    random_inputs,
)


@pytest.mark.parametrize("delta", ["1/3", Fraction(1, 3), 1 / 3])
def test_delta_may_be_text_a_fraction_or_a_float(delta: object) -> None:
    assert Setting.of(2, 1, delta) == Setting(2, 1, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", ["2/3", "1", "0", "-1/2", "a half", "1/0", float("nan"), float("inf")])
def test_other_steps_are_refused_by_name(delta: object) -> None:
    with pytest.raises(ValueError, match=r"delta: expected 1/2, 1/3, 1/4, ..., got"):
        Setting.of(2, 1, delta)  # type: ignore[arg-type]


def test_one_point_has_no_pair() -> None:
    with pytest.raises(ValueError, match="n: expected at least 2, got 1"):
        Setting(1, 1, 2)


def test_constants_of_the_proof() -> None:
    setting = Setting(3, 2, 4)
    delta = Fraction(1, 4)
    assert setting.base == delta**-2
    assert setting.spacing == 1 + delta**-1
    assert setting.all_max_constant == 2 * 3**2 * delta ** (-3 * 2 - 1)
    assert setting.inputs == 4**6


@pytest.mark.parametrize(("n", "d", "steps"), [(2, 1, 3), (3, 2, 2), (2, 3, 2)])
def test_the_grid_is_every_matrix_of_grid_values_once(n: int, d: int, steps: int) -> None:
    setting = Setting(n, d, steps)
    values = [Fraction(step, steps) for step in range(steps)]
    expected = set(itertools.product(values, repeat=n * d))
    found = [tuple(setting.real(value) for value in matrix.reshape(-1)) for matrix in all_inputs(setting)]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_random_inputs_are_different_and_repeatable() -> None:
    setting = Setting(4, 2, 5)
    inputs = random_inputs(setting, 300, seed=1)
    assert inputs.shape[1:] == (2, 4)
    assert len({tuple(matrix.reshape(-1)) for matrix in inputs}) == len(inputs)
    assert (inputs == random_inputs(setting, 300, seed=1)).all()
    assert set(inputs.reshape(-1)) == {0, 2, 4, 6, 8}


def test_the_embedding_puts_columns_into_disjoint_intervals() -> None:
    setting = Setting(4, 1, 3)
    assert [setting.real(value) for value in embedding(setting)] == [3, 0, 1, 2]


def test_quantisation_by_layers_is_the_floor() -> None:
    setting = Setting(3, 2, 3)
    generator = np.random.default_rng(0)
    numerators = generator.integers(0, 30, size=(40, 2, 3))  # thirtieths: grid values and values between them
    points = np.vectorize(lambda numerator: Fraction(int(numerator), 30), otypes=[object])(numerators)
    floors = quantise(points, setting)
    assert (quantise_by_layers(points, setting) == floors + embedding(setting)).all()
    assert (floors == 2 * (numerators * 3 // 30)).all()
    assert (quantise(points.astype(float) + 1e-9, setting) == floors).all()


def test_points_outside_the_domain_are_refused() -> None:
    setting = Setting(2, 1, 2)
    with pytest.raises(ValueError, match=r"points: expected coordinates in \[0, 1\)"):
        quantise(np.ones((1, 1, 2)), setting)
    with pytest.raises(ValueError, match=r"points: expected shape \(inputs, 1, 2\), got \(1, 2, 1\)"):
        quantise(np.zeros((1, 2, 1)), setting)


def test_one_matrix_makes_the_embedding_of_one_order_not_of_two() -> None:
    cloud = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert embedding_from_coordinates([cloud])
    assert not embedding_from_coordinates([cloud, cloud[::-1]])
    assert not embedding_from_coordinates([[[0, 0, 0], [1, 0, 0]]])  # the first point at the origin
