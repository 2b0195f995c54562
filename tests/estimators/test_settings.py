from __future__ import annotations

from typing import Any

import pytest

from sampled_transformer import SetClassifier
from sampled_transformer.estimators.settings import MOST_EPOCHS, check_settings, count_epochs, find_positions


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("dim", 0, "a whole number of at least 1"),
        ("depth", 1.5, "a whole number of at least 1"),
        ("batch_size", True, "a whole number of at least 1"),
        ("n_iter_no_change", "3", "a whole number of at least 1"),
        ("max_points", 0, "a whole number of at least 1, or None"),
        ("max_epochs", -1, "a whole number of at least 1, or None"),
        ("max_seconds", 0, "a number above 0, or None"),
        ("max_seconds", float("nan"), "a number above 0, or None"),
        ("dropout", 1.0, "a share from 0 to below 1"),
        ("validation_fraction", 0, "a share between 0 and 1"),
        ("learning_rate", None, "a number above 0"),
        ("weight_decay", -0.1, "a number of at least 0"),
    ],
)
def test_parameters_out_of_range(name: str, value: Any, expected: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}: expected {expected}, got {value!r}"):
        check_settings(SetClassifier(**{name: value}))


def test_defaults_are_in_range_and_devices_are_tried() -> None:
    check_settings(SetClassifier())
    with pytest.raises(ValueError, match=r"^device: expected a device that works here, got 'abacus'"):
        check_settings(SetClassifier(device="abacus"))


def test_positions_are_different_columns() -> None:
    assert find_positions(None, 3) is None
    assert find_positions([2, 0], 3) == (2, 0)
    for wrong in [(), (0, 0), (3,), (-1,), 1, ("x",)]:
        with pytest.raises(ValueError, match=r"^positions: expected different columns from 0 to 2, or None, got"):
            find_positions(wrong, 3)


def test_epochs_follow_the_number_of_sets() -> None:
    assert count_epochs(10, 32) == MOST_EPOCHS
    assert count_epochs(1_000_000, 32) < count_epochs(1_000, 32) < MOST_EPOCHS
