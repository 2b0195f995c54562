"""The value mapping (appendix E, step 4), and the network that approximates a set-to-set function."""

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
    """The proof's network for one function: embedding, quantisation, contextual mapping, value mapping.

    `values` maps each id to its output column. The proof uses one feed-forward layer per id
    (`value_mapping_by_layers`); we look the id up in a dictionary, which is equivalent.
    """

    setting: Setting
    values: dict[int, Floats]
    order: tuple[int, ...]
    constant: int

    @property
    def layers(self) -> tuple[int, int, int]:
        """Number of feed-forward layers for the quantisation, attention layers, and layers for the value mapping."""
        n, d, steps = self.setting.n, self.setting.d, self.setting.steps
        return n * d * steps, (n - 1) * self.setting.base + n, n * self.setting.inputs

    def __call__(self, points: Floats) -> Floats:
        """Map points in [0, 1), (inputs, d, n), to outputs of the same shape."""
        cells = quantise(points, self.setting)
        number = _cell_numbers(cells, self.setting)
        _, first, inverse = np.unique(number, return_index=True, return_inverse=True)
        ids = identify(cells[first], self.setting, order=self.order, constant=self.constant)
        columns = np.array([[self.values[identity] for identity in line] for line in ids.tolist()])  # (cells, n, d)
        return columns.swapaxes(1, 2)[inverse.reshape(-1)]


def approximate(
    function: Function, n: int, d: int, delta: Delta, *, order: Sequence[int] | None = None, limit: int = 200_000
) -> Approximation:
    """Build the network that equals `function` at the centre of every grid cell and is constant on each cell.

    `order` is the cycle that all attention layers use, `Cycle.order[0].tolist()`. The network needs one id per point
    for each of the delta^(-nd) cells; `limit` is the largest number of cells we accept.
    """
    setting = Setting.of(n, d, delta)
    if setting.inputs > limit:
        raise ValueError(f"delta: expected at most {limit} cells, got {setting.inputs} for {setting}")
    walk = tuple(range(n)) if order is None else tuple(order)
    cells = all_inputs(setting)
    wanted = np.asarray(function(cell_centres(cells, setting)), dtype=np.float64)
    if wanted.shape != cells.shape:
        raise ValueError(f"function: expected a result of shape {cells.shape}, got {wanted.shape}")
    constant = constant_above(setting, wanted)
    ids = identify(cells, setting, order=walk, constant=constant)
    columns = wanted.swapaxes(1, 2).reshape(-1, d)
    return Approximation(setting, dict(zip(ids.reshape(-1).tolist(), columns, strict=True)), walk, constant)


def cell_centres(cells: Integers, setting: Setting) -> Floats:
    """The centres of grid cells given in half steps, as real numbers."""
    return (cells.astype(np.float64) + 1) / (2 * setting.steps)


def constant_above(setting: Setting, wanted: Floats) -> int:
    """A constant c for the all-max-shifts, at least the paper's, that makes every id larger than every output u^T A.

    The layers of the value mapping run one after the other. A later layer must not mistake a finished output column A
    for an id; the paper's c = 2 n^2 delta^(-nd-1) does not rule this out.
    """
    if not np.isfinite(wanted).all():
        raise ValueError("function: expected finite values, got NaN or infinity")
    largest = Fraction(float(np.abs(wanted).max())) * setting.spacing  # bounds |u^T A|
    constant = setting.all_max_constant
    while constant**setting.n * (setting.n - 1) * setting.spacing <= largest:
        constant *= 2
    return constant


def value_mapping_by_layers(values: Integers, setting: Setting, outputs: dict[int, Sequence[Fraction]]) -> Integers:
    """Step 4 exactly as in the paper: one layer per id replaces every column L_k with |u^T L_k - id| < delta/2.

    `values` (inputs, d, n) is the result of the attention layers, in half steps; so are the outputs.
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
    """The distance of Eq. 2, d_p(f, g) = (integral of ||f(X) - g(X)||_p^p dX)^(1/p) over [0, 1)^(d x n).

    We estimate the integral on random points, which depend only on the seed.
    """
    if p < 1:
        raise ValueError(f"p: expected at least 1, got {p}")
    points = np.random.default_rng(seed).random((samples, setting.d, setting.n))
    difference = np.abs(function(points) - network(points)) ** p
    return float(difference.sum(axis=(1, 2)).mean() ** (1 / p))


def rank(points: Floats) -> Floats:
    """Along each axis, the share of the other n - 1 points that lie below."""
    below: Floats = (points[:, :, None] < points[..., None]).sum(-1) / max(points.shape[-1] - 1, 1)
    return below


def farthest(points: Floats) -> Floats:
    """The distance to the farthest point of the set, repeated in every feature."""
    apart = np.sqrt(((points[:, :, None] - points[..., None]) ** 2).sum(1))
    return np.broadcast_to(apart.max(-1)[:, None], points.shape).copy()


def centred(points: Floats) -> Floats:
    """The offset from the mean of the set."""
    offset: Floats = points - points.mean(-1, keepdims=True)
    return offset


FUNCTIONS: dict[str, Function] = {"centred": centred, "farthest": farthest, "rank": rank}


def _cell_numbers(cells: Integers, setting: Setting) -> NDArray[np.int64]:
    """Number the cells, so that equal inputs are easy to find."""
    digits = cells.astype(np.int64).reshape(len(cells), -1) // 2
    return digits @ setting.steps ** np.arange(digits.shape[1], dtype=np.int64)
