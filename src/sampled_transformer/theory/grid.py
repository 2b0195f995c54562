"""The grid, the positional embedding and the quantisation of the proof (appendix E, steps 1 and 2).

All arithmetic is exact: values are Python integers that count half steps, delta / 2, because the thresholds of the
heads lie halfway between two grid values. A batch of inputs is an array of such integers, (inputs, d, n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[Any]  # dtype object: Python integers, which do not overflow
Delta = Fraction | str | float


@dataclass(frozen=True)
class Setting:
    """n tokens of d features on a grid of `steps` = 1 / delta values a coordinate."""

    n: int
    d: int
    steps: int

    def __post_init__(self) -> None:
        for name, value, least in (("n", self.n, 2), ("d", self.d, 1), ("steps", self.steps, 2)):
            if value < least:
                raise ValueError(f"{name}: expected at least {least}, got {value}")

    @classmethod
    def of(cls, n: int, d: int, delta: Delta) -> Setting:
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
        """The unit in which values are counted."""
        return self.delta / 2

    @property
    def base(self) -> int:
        """delta^-d, the values that one column can take, and the constant c of the selective shift."""
        return self.steps**self.d

    @property
    def spacing(self) -> int:
        """Delta = 1 + delta^-1 + ... + delta^(-d+1), by which the ids of neighbouring columns are apart."""
        return sum(self.steps**row for row in range(self.d))

    @property
    def inputs(self) -> int:
        """The size of the grid G_delta."""
        return self.base**self.n

    @property
    def all_max_constant(self) -> int:
        """c = 2 n^2 delta^(-nd-1) of the all-max-shift."""
        return 2 * self.n**2 * self.steps ** (self.n * self.d + 1)

    def real(self, value: int) -> Fraction:
        """A value counted in half steps as the number it stands for."""
        return value * self.half_step

    def __str__(self) -> str:
        return f"n={self.n}, d={self.d}, delta={self.delta}"


def all_inputs(setting: Setting) -> Integers:
    """Every input of G_delta, (inputs, d, n), in half steps."""
    number = np.arange(setting.inputs)[:, None]
    digits = number // setting.steps ** np.arange(setting.n * setting.d)[::-1] % setting.steps
    return _half_steps(digits, setting)


def random_inputs(setting: Setting, count: int, seed: int = 0) -> Integers:
    """At most `count` different inputs of G_delta, drawn uniformly."""
    digits = np.random.default_rng(seed).integers(setting.steps, size=(count, setting.n * setting.d))
    return _half_steps(np.unique(digits, axis=0), setting)


def _half_steps(digits: NDArray[np.integer], setting: Setting) -> Integers:
    """Digits, token after token, as values: (inputs, n d) -> (inputs, d, n)."""
    values = 2 * digits.reshape(-1, setting.n, setting.d).swapaxes(1, 2)
    return values.astype(object)


def embedding(setting: Setting) -> Integers:
    """E of "Positional Embedding", (n,): n - 1 for the first token, i - 2 for the others; equal in all features."""
    places = [setting.n - 1, *range(setting.n - 1)]
    return np.array([2 * setting.steps * place for place in places], dtype=object)


def quantise(points: NDArray[Any], setting: Setting) -> Integers:
    """The grid value below each coordinate of [0, 1), (inputs, d, n): what the feed-forward layers of step 2 do."""
    check_points(points, setting)
    if points.dtype == object:
        return 2 * np.floor(points * setting.steps)
    return (2 * np.floor(points * setting.steps).astype(np.int64)).astype(object)


def quantise_by_layers(points: NDArray[Any], setting: Setting) -> Integers:
    """X -> L = G + E through n d / delta modified feed-forward layers (step 2), on exact fractions.

    Layer (row, k) moves the entries of a row that lie in [k delta, (k + 1) delta) down to k delta and leaves the rest.
    """
    check_points(points, setting)
    values = points.astype(object) / setting.half_step + embedding(setting)
    for row in range(setting.d):
        for lower in range(0, 2 * setting.n * setting.steps, 2):
            inside = (values[:, row] >= lower) & (values[:, row] < lower + 2)
            values[:, row] = np.where(inside, lower, values[:, row])
    return values


def check_points(points: NDArray[Any], setting: Setting) -> None:
    if points.ndim != 3 or points.shape[1:] != (setting.d, setting.n):
        raise ValueError(f"points: expected shape (inputs, {setting.d}, {setting.n}), got {points.shape}")
    if not bool(((points >= 0) & (points < 1)).all()):
        raise ValueError("points: expected coordinates in [0, 1), got others")


def embedding_from_coordinates(clouds: Sequence[Sequence[Sequence[int]]]) -> bool:
    """Whether one matrix W_p gives E = W_p P for all these clouds at once, each a list of n points.

    The rows of W_p obey the same equations, so that one row w with w . p_i = E_i decides.
    """
    rows = []
    for cloud in clouds:
        places = [len(cloud) - 1, *range(len(cloud) - 1)]
        rows += [[*point, place] for point, place in zip(cloud, places, strict=True)]
    matrix = np.array(rows, dtype=float)
    return bool(np.linalg.matrix_rank(matrix[:, :-1]) == np.linalg.matrix_rank(matrix))
