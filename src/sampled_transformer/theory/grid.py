"""The grid, the positional embedding and the quantisation of the proof (appendix E, steps 1 and 2).

All arithmetic is exact. Values are Python integers that count half steps of delta / 2, because the thresholds of the
heads lie halfway between two grid values. A batch of inputs is an array of such integers, (inputs, d, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]  # dtype object: Python integers, which cannot overflow
Delta = Fraction | str | float


@dataclass(frozen=True)
class Setting:
    """The size of the problem: n tokens with d features, on a grid of `steps` = 1 / delta values per coordinate."""

    n: int
    d: int
    steps: int

    def __post_init__(self) -> None:
        for name, value, least in (("n", self.n, 2), ("d", self.d, 1), ("steps", self.steps, 2)):
            if value < least:
                raise ValueError(f"{name}: expected at least {least}, got {value}")

    @classmethod
    def of(cls, n: int, d: int, delta: Delta) -> Setting:
        """The setting with the given delta, such as "1/4", 0.25 or Fraction(1, 4)."""
        try:
            step = Fraction(delta).limit_denominator(10**6) if isinstance(delta, float) else Fraction(delta)
        except (ValueError, ZeroDivisionError, OverflowError):
            step = Fraction(0)
        if step.numerator != 1 or step.denominator < 2:
            raise ValueError(f"delta: expected 1/2, 1/3, 1/4, ..., got {delta}")
        return cls(n, d, step.denominator)

    @property
    def delta(self) -> Fraction:
        return Fraction(1, self.steps)

    @property
    def half_step(self) -> Fraction:
        """The unit in which we count values: delta / 2."""
        return self.delta / 2

    @property
    def base(self) -> int:
        """delta^-d: the number of values of one column, and the constant c of the selective shift."""
        return int(self.steps**self.d)

    @property
    def spacing(self) -> int:
        """Delta = 1 + delta^-1 + ... + delta^(-d+1): the distance between the ids of neighbouring columns."""
        return sum(self.steps**row for row in range(self.d))

    @property
    def inputs(self) -> int:
        """The size of the grid G_delta: delta^(-nd)."""
        return int(self.base**self.n)

    @property
    def all_max_constant(self) -> int:
        """The constant of the all-max-shift: c = 2 n^2 delta^(-nd-1)."""
        return int(2 * self.n**2 * self.steps ** (self.n * self.d + 1))

    def real(self, value: int) -> Fraction:
        """The number that a value in half steps stands for."""
        return value * self.half_step

    def __str__(self) -> str:
        return f"n={self.n}, d={self.d}, delta={self.delta}"


def all_inputs(setting: Setting) -> Integers:
    """Every input of G_delta, (inputs, d, n), in half steps."""
    number = np.arange(setting.inputs)[:, None]
    digits = number // setting.steps ** np.arange(setting.n * setting.d)[::-1] % setting.steps
    return _half_steps(digits, setting)


def random_inputs(setting: Setting, count: int, seed: int = 0) -> Integers:
    """Up to `count` different inputs of G_delta, drawn uniformly."""
    digits = np.random.default_rng(seed).integers(setting.steps, size=(count, setting.n * setting.d))
    return _half_steps(np.unique(digits, axis=0), setting)


def _half_steps(digits: NDArray[np.integer[Any]], setting: Setting) -> Integers:
    """Turn digits, one token after the other, into values: (inputs, n d) -> (inputs, d, n)."""
    values = 2 * digits.reshape(-1, setting.n, setting.d).swapaxes(1, 2)
    return values.astype(object)


def embedding(setting: Setting) -> Integers:
    """The positional embedding E, (n,): n - 1 for token 1 and i - 2 for token i > 1, the same in all features."""
    places = [setting.n - 1, *range(setting.n - 1)]
    return np.array([2 * setting.steps * place for place in places], dtype=object)


def quantise(points: NDArray[Any], setting: Setting) -> Integers:
    """Round each coordinate in [0, 1) down to the grid, (inputs, d, n), as the feed-forward layers of step 2 do."""
    check_grid_points(points, setting)
    cells = np.floor(points * setting.steps)
    quantised: Integers = 2 * cells if points.dtype == object else (2 * cells.astype(np.int64)).astype(object)
    return quantised


def quantise_by_layers(points: NDArray[Any], setting: Setting) -> Integers:
    """Map X to L = G + E with n d / delta modified feed-forward layers (step 2), in exact fractions.

    Layer (row, k) moves the entries of this row that are in [k delta, (k + 1) delta) down to k delta.
    """
    check_grid_points(points, setting)
    values: Integers = points.astype(object) / setting.half_step + embedding(setting)
    for row in range(setting.d):
        for lower in range(0, 2 * setting.n * setting.steps, 2):
            inside = (values[:, row] >= lower) & (values[:, row] < lower + 2)
            values[:, row] = np.where(inside, lower, values[:, row])
    return values


def check_grid_points(points: NDArray[Any], setting: Setting) -> None:
    """Raise a ValueError unless the points are (inputs, d, n) and in [0, 1)."""
    if points.ndim != 3 or points.shape[1:] != (setting.d, setting.n):
        raise ValueError(f"points: expected shape (inputs, {setting.d}, {setting.n}), got {points.shape}")
    if not bool(((points >= 0) & (points < 1)).all()):
        raise ValueError(f"points: expected coordinates in [0, 1), got {points.min()} to {points.max()}")


def embedding_from_coordinates(clouds: Sequence[Sequence[Sequence[int]]]) -> bool:
    """Whether a single matrix W_p gives E = W_p P for all these clouds P, each a list of n points.

    All rows of W_p obey the same equations, so it is enough to look for one row w with w . p_i = E_i.
    """
    rows = []
    for cloud in clouds:
        places = [len(cloud) - 1, *range(len(cloud) - 1)]
        rows += [[*point, place] for point, place in zip(cloud, places, strict=True)]
    matrix = np.array(rows, dtype=float)
    return bool(np.linalg.matrix_rank(matrix[:, :-1]) == np.linalg.matrix_rank(matrix))
