from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from helpers import slow_theory as slow

from sampled_transformer.theory import patterns
from sampled_transformer.theory.grid import Setting, all_inputs, embedding
from sampled_transformer.theory.heads import all_max_shift, hardmax_head, project, selective_shift

IDS = np.array(list(itertools.product(range(-2, 7, 2), repeat=3)), dtype=object)


@pytest.mark.parametrize("threshold", [-1, 3, 0, 2])
def test_heads_are_hardmax_attention(threshold: int) -> None:
    """Compare with weights computed key by key, including ids equal to the threshold."""
    pattern = ((0, 2), (0, 1, 2), (2,))
    found = hardmax_head(IDS, pattern, threshold)
    for ids, row in zip(IDS, found, strict=True):
        numbers = [Fraction(value) for value in ids]
        assert list(row) == [slow.head(numbers, keys, k, Fraction(threshold)) for k, keys in enumerate(pattern)]


def test_a_token_without_keys_reads_nothing() -> None:
    assert not hardmax_head(IDS, ((), (0, 1), ()), 1)[:, [0, 2]].any()


def test_projection_is_base_one_over_delta() -> None:
    setting = Setting(2, 3, 3)
    values = all_inputs(setting)[::7]
    for matrix, ids in zip(values, project(values, setting), strict=True):
        real = [[setting.real(value) for value in line] for line in matrix]
        assert [setting.real(value) for value in ids] == slow.project(real, setting.delta)


def test_a_selective_shift_moves_the_tokens_in_its_window_alone() -> None:
    setting = Setting(3, 1, 3)
    values = all_inputs(setting) + embedding(setting)
    b = 2  # l_2 = delta
    shifted = selective_shift(values, patterns.pair(3, 1), b, setting)
    before, after = project(values, setting), project(shifted, setting)
    hit = before[:, 1] == b
    assert hit.any()
    assert not hit.all()
    assert (after[:, [0, 2]] == before[:, [0, 2]]).all()
    assert (after[~hit] == before[~hit]).all()
    assert (after[hit, 1] == b + setting.base * (before[hit, 0] - b)).all()


def test_an_all_max_shift_is_one_to_one() -> None:
    """One can recover the largest id, and from it the others backwards along the cycle."""
    setting = Setting(4, 1, 2)
    ids = np.array(list(itertools.product(range(2, 12, 2), repeat=4)), dtype=object)
    for c in (1, 2, 3):
        shifted = all_max_shift(ids[:, None], patterns.cycle_to_next(4), setting, c)
        assert len({tuple(row) for row in shifted[:, 0]}) == len(ids)
