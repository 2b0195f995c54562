"""The value mapping (appendix E, step 4), and with it any piece-wise constant set-to-set function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .contextual import identify
from .grid import Delta, Integers, Setting, all_inputs, quantise
from .heads import project

Floats = NDArray[np.float64]
Function = Callable[[Floats], Floats]  # (inputs, d, n) -> (inputs, d, n)


@dataclass(frozen=True)
class Approximation:
    """The network of the proof for one function: embedding, quantisation, contextual mapping, value mapping.

    `values` maps each id to the column it stands for. The proof spends one feed-forward layer on each id
    (`value_mapping_by_layers`); looking it up is the same.
    """

    setting: Setting
    values: dict[int, Floats]
    order: tuple[int, ...]
    constant: int

    @property
    def layers(self) -> tuple[int, int, int]:
        """Feed-forward layers of the quantisation, attention layers, feed-forward layers of the value mapping."""
        n, d, steps = self.setting.n, self.setting.d, self.setting.steps
        return n * d * steps, (n - 1) * self.setting.base + n, n * self.setting.inputs

    def __call__(self, points: Floats) -> Floats:
        """Points in [0, 1), (inputs, d, n), to columns of the same shape."""
        cells = quantise(points, self.setting)
        number = _cell_numbers(cells, self.setting)
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
        ids = identify(cells[first], self.setting, order=self.order, constant=self.constant)
        columns = np.array([[self.values[identity] for identity in line] for line in ids.tolist()])  # (cells, n, d)
        return columns.swapaxes(1, 2)[inverse.reshape(-1)]


def approximate(
    function: Function, n: int, d: int, delta: Delta, *, order: Sequence[int] | None = None, limit: int = 200_000
) -> Approximation:
    """The network that equals `function` at the centre of every cell of the grid and is constant on the cell.

    `order` is the cycle of all attention layers, `Cycle.order[0].tolist()`. It takes one id for each point of each of
    the delta^(-nd) cells, so `limit` bounds the cells.
    """
    setting = Setting.of(n, d, delta)
    if setting.inputs > limit:
        raise ValueError(f"delta: expected at most {limit} cells, got {setting.inputs} for {setting}")
    walk = tuple(range(n)) if order is None else tuple(order)
    cells = all_inputs(setting)
    wanted = np.asarray(function(cell_centres(cells, setting)), dtype=np.float64)
    if wanted.shape != cells.shape:
        raise ValueError(f"function: expected to keep the shape {cells.shape}, got {wanted.shape}")
    constant = constant_above(setting, wanted)
    ids = identify(cells, setting, order=walk, constant=constant)
    columns = wanted.swapaxes(1, 2).reshape(-1, d)
    return Approximation(setting, dict(zip(ids.reshape(-1).tolist(), columns, strict=True)), walk, constant)


def cell_centres(cells: Integers, setting: Setting) -> Floats:
    return (cells.astype(np.float64) + 1) / (2 * setting.steps)


def constant_above(setting: Setting, wanted: Floats) -> int:
    """A constant c of the all-max-shifts, at least the paper's, with every id above every u^T A that is wanted.

    The layers of the value mapping work one after the other. A column that already holds its output A must not be
    taken for an id that a later layer waits for; c = 2 n^2 delta^(-nd-1) does not exclude it.
    """
    if not np.isfinite(wanted).all():
        raise ValueError("function: expected finite values, got others")
    largest = Fraction(float(np.abs(wanted).max())) * setting.spacing  # bounds |u^T A|
    constant = setting.all_max_constant
    while constant**setting.n * (setting.n - 1) * setting.spacing <= largest:
        constant *= 2
    return constant


def value_mapping_by_layers(values: Integers, setting: Setting, outputs: dict[int, Sequence[Fraction]]) -> Integers:
    """Step 4 to the letter: for each id, one layer sets the columns whose u^T is within delta/2 of it to its output.

    `values` (inputs, d, n) are what the attention layers leave, in half steps; so are the outputs.
    """
    mapped = values.astype(object)
    for identity, output in outputs.items():
        ids = project(mapped, setting)
        matched = (ids > identity - 1) & (ids < identity + 1)
        for row in range(setting.d):
            mapped[:, row][matched] = output[row]
    return mapped


def distance(
    function: Function, network: Function, setting: Setting, *, p: float = 2, samples: int = 4000, seed: int = 0
) -> float:
    """d_p of Eq. 2 over [0, 1)^(d x n), estimated on random points: the same ones for the same seed."""
    if p < 1:
        raise ValueError(f"p: expected at least 1, got {p}")
    points = np.random.default_rng(seed).random((samples, setting.d, setting.n))
    difference = np.abs(function(points) - network(points)) ** p
    return float(difference.sum(axis=(1, 2)).mean() ** (1 / p))


def rank(points: Floats) -> Floats:
    """How many points lie below along each axis, of n - 1."""
    return (points[:, :, None] < points[..., None]).sum(-1) / max(points.shape[-1] - 1, 1)


def farthest(points: Floats) -> Floats:
    """The distance to the farthest point of the set, in every feature."""
    apart = np.sqrt(((points[:, :, None] - points[..., None]) ** 2).sum(1))
    return np.broadcast_to(apart.max(-1)[:, None], points.shape).copy()


def centred(points: Floats) -> Floats:
    """The offset from the centre of the set."""
    return points - points.mean(-1, keepdims=True)


FUNCTIONS: dict[str, Function] = {"centred": centred, "farthest": farthest, "rank": rank}


def _cell_numbers(cells: Integers, setting: Setting) -> NDArray[np.int64]:
    digits = cells.astype(np.int64).reshape(len(cells), -1) // 2
    return digits @ setting.steps ** np.arange(digits.shape[1], dtype=np.int64)
