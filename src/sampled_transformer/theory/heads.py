"""The modified attention layers of the proof: hardmax heads, the selective shift Psi, the all-max-shift Omega."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .grid import Integers, Setting
from .patterns import Pattern


def project(values: Integers, setting: Setting) -> Integers:
    """The ids u^T L, (inputs, n), with u = (1, delta^-1, ..., delta^(-d+1))."""
    ids = values[:, 0].copy()
    for row in range(1, setting.d):
        ids += setting.steps**row * values[:, row]
    return ids


def hardmax_head(ids: Integers, pattern: Pattern, threshold: int) -> Integers:
    """psi of eq:selective_op, (inputs, n): query, key and value are all u^T, and hardmax replaces softmax.

    Above the threshold a token reads the largest id among its keys, below it the smallest. An id that is the threshold
    itself makes all scores zero: hardmax then averages the keys.
    """
    out = np.zeros_like(ids)
    for token, keys in enumerate(pattern):
        if not keys:
            continue
        query, key = ids[:, token] - threshold, ids[:, list(keys)]
        scores = key * query[:, None]
        chosen = scores == scores.max(axis=1)[:, None]
        out[:, token] = divide((key * chosen).sum(axis=1), chosen.sum(axis=1))
    return out


def divide(total: Integers, count: NDArray[np.integer]) -> Integers:
    """The exact quotient: an integer unless a tie of different keys makes it a fraction."""
    ties = count > 1
    quotient = total.copy()
    quotient[ties] = [Fraction(one, int(two)) for one, two in zip(total[ties], count[ties], strict=True)]
    return quotient


def selective_shift(values: Integers, pattern: Pattern, b: int, setting: Setting) -> Integers:
    """Psi(L; c, b - delta/2, b + delta/2), c = delta^-d: tokens whose id is b move by c times their keys' spread."""
    ids = project(values, setting)
    shifted = values.copy()
    shifted[:, 0] += setting.base * (hardmax_head(ids, pattern, b - 1) - hardmax_head(ids, pattern, b + 1))
    return shifted


def all_max_shift(values: Integers, pattern: Pattern, setting: Setting, constant: int | None = None) -> Integers:
    """Omega(L; c) of eq:all_max: every token moves by c times the largest id among its keys."""
    shifted = values.copy()
    factor = setting.all_max_constant if constant is None else constant
    shifted[:, 0] += factor * hardmax_head(project(values, setting), pattern, 0)
    return shifted
