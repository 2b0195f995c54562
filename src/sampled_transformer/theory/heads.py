"""The modified attention layers of the proof: the selective shift Psi and the all-max-shift Omega (appendix E.2).

Both are made of hardmax heads psi that read the ids u^T L:

    project          u^T L                                                            the ids
    hardmax_head     psi(L; b)_k = max_{j in A_k} u^T L_j  if u^T L_k > b, else min_{j in A_k} u^T L_j
    selective_shift  Psi(L; c, b, b')_{1,k} = L_{1,k} + c (psi(L; b)_k - psi(L; b')_k)     eq:selective_op
    all_max_shift    Omega(L; c)_{1,k} = L_{1,k} + c max_{j in A_k} u^T L_j                eq:all_max
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .grid import Integers, Setting
from .patterns import Pattern


def project(values: Integers, setting: Setting) -> Integers:
    """The projection u^T L, (inputs, n), which gives every token its id; u = (1, delta^-1, ..., delta^(-d+1))."""
    ids: Integers = values[:, 0].copy()
    for row in range(1, setting.d):
        ids += setting.steps**row * values[:, row]
    return ids


def hardmax_head(ids: Integers, pattern: Pattern, threshold: int) -> Integers:
    """The head psi(L; b) of eq:selective_op, (inputs, n): query, key and value are u^T L; hardmax replaces softmax.

        psi(L; b)_k = max_{j in A_k} u^T L_j  if u^T L_k > b
                      min_{j in A_k} u^T L_j  if u^T L_k < b

    For u^T L_k = b all scores are zero, and hardmax averages the keys. A token without keys gets 0. `pattern` has the
    keys A_k of every token, `threshold` is b in half steps.
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


def divide(total: Integers, count: NDArray[np.integer[Any]]) -> Integers:
    """The exact quotient: an integer, or a fraction if different keys tie."""
    ties = count > 1
    quotient = total.copy()
    quotient[ties] = [Fraction(one, int(two)) for one, two in zip(total[ties], count[ties], strict=True)]
    return quotient


def selective_shift(values: Integers, pattern: Pattern, b: int, setting: Setting) -> Integers:
    """The selective shift Psi(L; c, b - delta/2, b + delta/2) of eq:selective_op, with c = delta^-d.

        Psi(L)_{1,k} = L_{1,k} + c (psi(L; b - delta/2)_k - psi(L; b + delta/2)_k)
                     = L_{1,k} + c (max_{j in A_k} u^T L_j - min_{j in A_k} u^T L_j)   if u^T L_k = b
                     = L_{1,k}                                                          otherwise

    It shifts only the tokens whose id is b (in half steps); `pattern` has the keys A_k of every token.
    """
    ids = project(values, setting)
    shifted = values.copy()
    shifted[:, 0] += setting.base * (hardmax_head(ids, pattern, b - 1) - hardmax_head(ids, pattern, b + 1))
    return shifted


def all_max_shift(values: Integers, pattern: Pattern, setting: Setting, constant: int | None = None) -> Integers:
    """The all-max-shift Omega(L; c) of eq:all_max, with c = 2 n^2 delta^(-nd-1) or `constant`.

        Omega(L; c)_{1,k} = L_{1,k} + c psi(L; 0)_k = L_{1,k} + c max_{j in A_k} u^T L_j

    It shifts every token by c times the largest id among its keys.
    """
    shifted = values.copy()
    factor = setting.all_max_constant if constant is None else constant
    shifted[:, 0] += factor * hardmax_head(project(values, setting), pattern, 0)
    return shifted
