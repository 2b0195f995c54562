"""The inequalities of appendix E as the paper writes them, evaluated as exact fractions.

Notation: Delta = `setting.spacing`, delta^-d = `setting.base`, l~_j is the id of token j after the selective shifts.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from .grid import Setting


def column_width(setting: Setting) -> Fraction:
    """The width of the interval of each l_i: delta^(-d+1) - delta."""
    return setting.delta * (setting.base - 1)


def selected_interval(setting: Setting, j: int) -> tuple[Fraction, Fraction]:
    """The paper's interval for l~_j, j = 1, ..., n. It follows from the closed form of l~_j (`claims.closed_form`)."""
    n, base, spacing, width = setting.n, setting.base, Fraction(setting.spacing), column_width(setting)
    if j == 1:
        return (n - 1) * spacing, (n - 1) * spacing + width
    powers = sum(base**k for k in range(1, j - 1))
    top = base ** (j - 1)
    middle = (j - 2) * spacing - powers * spacing + top * (n - 1) * spacing
    return middle - powers * width - top * width, middle + width + powers * width + top * width


def gap_chain(setting: Setting, i: int) -> list[Fraction]:
    """The lower end of l~_(i+1) minus the upper end of l~_i, and then the four lines that the paper derives from it."""
    n, base, spacing, width = setting.n, Fraction(setting.base), setting.spacing, column_width(setting)
    exact = selected_interval(setting, i + 1)[0] - selected_interval(setting, i)[1]
    bracket = (1 + base) / (1 - base) - 2 * base / (1 - base) * base ** (i - 2) + 2 * base ** (i - 1) + base**i
    second = (1 - n * base ** (i - 1) + (n - 1) * base**i) * spacing - bracket * width
    ratio = 2 * base / (base - 1)
    third = (ratio - ratio * base ** (i - 2) - (n + 2) * base ** (i - 1) + (n - 2) * base**i) * width
    fourth = base ** (i - 2) * (-ratio - (n + 2) * base + (n - 2) * base**2) * width
    fifth = base ** (i - 2) * (-4 - (n + 2) * base + (n - 2) * base**2) * width
    return [exact, second, third, fourth, fifth]


def upper_bound_as_written(setting: Setting, i: int) -> Fraction:
    """eq:upper_bound_selective_op as written: delta^(-(i-1)d) (i - 1 + delta) (delta^-d - 1)."""
    return Fraction(setting.base) ** (i - 1) * (i - 1 + setting.delta) * (setting.base - 1)


def upper_bound_repaired(setting: Setting, i: int) -> Fraction:
    """eq:upper_bound_selective_op repaired: delta^(-(i-1)d) (n - 1 + delta) (delta^-d - 1)."""
    return Fraction(setting.base) ** (i - 1) * (setting.n - 1 + setting.delta) * (setting.base - 1)


def remainder_chain(setting: Setting) -> list[Fraction]:
    """The paper's bounds on the part of an id that is not c^n l~_n, each at most the next; the last is c^n delta."""
    n, c, top = setting.n, setting.all_max_constant, setting.base**setting.n
    scale = n * top * setting.steps  # n delta^(-nd-1)
    first = sum(comb(n, i) * c**i for i in range(n)) * n * top
    second = sum(comb(n, i) * (2 * n) ** i for i in range(n)) * scale ** (n - 1) * n * top
    third = ((1 + 2 * n) ** n - (2 * n) ** n) * scale**n * setting.delta
    return [Fraction(first), Fraction(second), third, c**n * setting.delta]
