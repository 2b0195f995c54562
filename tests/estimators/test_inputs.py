from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sampled_transformer.estimators.inputs import PackedSets, cut, pack

SETS = [np.arange(6.0).reshape(3, 2), np.zeros((0, 2)), np.array([[7, 8]])]


def test_sets_of_any_size_are_packed() -> None:
    packed = pack(SETS)
    assert packed.rows.tolist() == [[0, 1], [2, 3], [4, 5], [7, 8]]
    assert packed.rows.dtype == np.float32
    assert packed.ptr.tolist() == [0, 3, 3, 4]
    assert len(packed) == 3


@pytest.mark.parametrize(
    "given",
    [
        tuple(SETS),
        [one.tolist() for one in SETS],  # the empty set is [], whose width nobody knows
        [torch.tensor(one) for one in SETS],
        np.array([*SETS, None], dtype=object)[:-1],
    ],
    ids=["tuple", "lists", "tensors", "objects"],
)
def test_forms_of_the_same_sets(given: Any) -> None:
    assert np.array_equal(pack(given).rows, pack(SETS).rows)
    assert np.array_equal(pack(given).ptr, pack(SETS).ptr)


@pytest.mark.parametrize("form", [np.asarray, torch.tensor, lambda x: np.asarray(x).astype(object)])
def test_one_array_of_equal_sets(form: Any) -> None:
    cube = np.arange(24.0).reshape(2, 4, 3)
    packed = pack(form(cube))
    assert np.array_equal(packed.rows, cube.reshape(8, 3))
    assert packed.ptr.tolist() == [0, 4, 8]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "X: expected at least 1 set, got none"),
        ([[], []], "X: expected at least one set with columns, got empty lists alone"),
        (np.zeros((5, 2)), r"X: expected a list of .* got float64 of shape \(5, 2\)"),
        ("text", "X: expected a list of .* got str"),
        ([np.zeros((2, 3)), np.zeros((2, 4))], r"X\[1\]: expected 3 columns, as X\[0\], got 4"),
        ([np.zeros((2, 3)), np.zeros(3)], r"X\[1\]: expected an array of shape \(n, d\), got the shape \(3,\)"),
        ([np.zeros((2, 0))], r"X\[0\]: expected an array of shape \(n, d\), got the shape \(2, 0\)"),
        ([[["a", "b"]]], r"X\[0\]: expected an array of numbers of shape \(n, d\), got list"),
        ([[[1, 2], [3]]], r"X\[0\]: expected an array of numbers"),
        ([np.zeros((1, 1)), np.array([[0], [np.nan]])], r"X\[1\]: expected finite numbers, got NaN .* in row 1"),
        ([np.array([[1e300]])], r"X\[0\]: expected finite numbers"),
        ([np.array([[1j]])], r"X\[0\]: expected an array of numbers"),
    ],
)
def test_errors_are_one_line(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        pack(given)
    assert "\n" not in str(caught.value)


def test_a_fitted_width_is_kept() -> None:
    with pytest.raises(ValueError, match=r"^X\[0\]: expected 3 columns, as in fit, got 2"):
        pack(SETS, 3)
    assert pack([[]], 3).rows.shape == (0, 3)


def test_order_of_the_rows_does_not_matter_once_ordered() -> None:
    generator = np.random.default_rng(0)
    rows = generator.integers(0, 3, size=(20, 2)).astype(np.float32)
    ptr = cut(np.array([8, 0, 12]))
    shuffled = np.concatenate([generator.permutation(rows[:8]), generator.permutation(rows[8:])])
    first, second = PackedSets(rows, ptr).ordered(), PackedSets(shuffled, ptr).ordered()
    assert np.array_equal(first.rows, second.rows)
    assert sorted(first.rows[:8].tolist()) == sorted(rows[:8].tolist())  # rows stay in their set


def test_select() -> None:
    chosen = pack(SETS).select(np.array([2, 0]))
    assert chosen.rows.tolist() == [[7, 8], [0, 1], [2, 3], [4, 5]]
    assert chosen.ptr.tolist() == [0, 1, 4]


def test_some_rows_of_each_set() -> None:
    packed = PackedSets(np.arange(15.0)[:, None], cut(np.array([10, 2, 3])))
    first, second = packed.places_of_some(np.array([0, 1]), 4, np.random.default_rng(0))
    assert len(set(first)) == 4
    assert set(first) <= set(range(10))
    assert second.tolist() == [10, 11]


def test_a_column_of_a_data_frame() -> None:
    class Column:  # what pandas and polars offer
        def to_numpy(self) -> np.ndarray:
            return np.array([*SETS, None], dtype=object)[:-1]

    assert np.array_equal(pack(Column()).rows, pack(SETS).rows)
