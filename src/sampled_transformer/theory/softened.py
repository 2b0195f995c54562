"""The last stage of the proof (stage 3 of section 3.3): the same network with softmax for hardmax, and ReLUs for steps.

The paper cites this stage from Yun et al., "O(n) Connections are Expressive Enough" (2020, section F). Three kinds of
layers change; all are layers of an ordinary transformer:

    softmax_head   psi_tau(L; b)_k = sum_{j in A_k} w_j u^T L_j,  w = softmax_{j in A_k} (u^T L_j (u^T L_k - b) / tau)
    ramp_down      t = x - k delta:  x - ReLU(t) + ReLU(t - (1 - r) delta) / r - (1 / r - 1) ReLU(t - delta)
    window         t = u^T L_k - id: (ReLU(t + 3a) - ReLU(t + a) - ReLU(t - a) + ReLU(t - 3a)) / 2a,  a = delta / 4

As tau goes to 0 the heads become hardmax heads, with an error of about exp(-gap / tau) (`score_gap`). `ramp_down` is
the step of the quantisation except in the last share r of every cell, where it climbs back to the next cell. Ids are
multiples of delta, so the windows need not be steep. No layer has more than two heads of size 1 and four hidden units:
the network is one of T^{2,1,4}, as the theorem says.

We compute in float64. Values still count half steps, delta / 2, so that at small tau every id is an exact integer while
it stays below 2^53.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from . import patterns
from .approximation import Approximation, Floats
from .contextual import Trace, run, windows
from .grid import Setting, all_inputs, check_grid_points, embedding
from .patterns import Pattern

CONSTRUCTION = "cycle"  # every layer is a whole cycle: each token attends to itself and to the token before it


def relu(x: Floats) -> Floats:
    return np.maximum(x, 0.0)


def softmax_head(ids: Floats, pattern: Pattern, threshold: float, tau: float) -> Floats:
    """The head psi_tau(L; b), (inputs, n); ids, threshold b and values in half steps, tau in half steps squared.

    For the two keys of a cycle the softmax is a sigmoid: this is Eq. 5a with W_Q = W_K = W_V = u^T and scale 1 / tau.
    """
    out = np.zeros_like(ids)
    for token, keys in enumerate(pattern):
        key = ids[:, list(keys)]
        scores = key * (ids[:, [token]] - threshold) / tau
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, token] = (key * weights).sum(axis=1) / weights.sum(axis=1)
    return out


def ramp_down(values: Floats, lower: float, ramp: float) -> Floats:
    """One layer of the quantisation: move values of the cell [lower, lower + 2) to `lower`, three ReLUs per value.

    In the last share `ramp` of the cell the result climbs from `lower` to `lower + 2`. Other values do not change.
    """
    t = values - lower
    return values - relu(t) + relu(t - 2 * (1 - ramp)) / ramp - (1 / ramp - 1) * relu(t - 2)


def window(t: Floats) -> Floats:
    """1 for |t| <= 1/2 half steps, 0 for |t| >= 3/2, four ReLUs. Ids are two half steps apart."""
    return relu(t + 1.5) - relu(t + 0.5) - relu(t - 0.5) + relu(t - 1.5)


@dataclass(frozen=True)
class Softened:
    """The proof's network for one function with softmax heads and ReLU ramps, (inputs, d, n) -> (inputs, d, n).

    Args:
        network: the exact network, from `approximate`.
        tau: temperature of every head, in the units of the paper: softmax(scores / tau).
        ramp: share r of each grid cell that the ramps take. Powers of two are exact in float64.
        clipped: add a last layer, two ReLUs per value, that clips outputs to the range of the function. The paper has
            none. Inputs on a ramp get ids that no window knows, and without it their output is such an id.
    """

    network: Approximation
    tau: float
    ramp: float = 2.0**-20
    clipped: bool = False

    def __post_init__(self) -> None:
        if not self.tau > 0:
            raise ValueError(f"tau: expected a positive temperature, got {self.tau}")
        if not 0 < self.ramp < 1:
            raise ValueError(f"ramp: expected a share between 0 and 1, got {self.ramp}")

    @property
    def setting(self) -> Setting:
        return self.network.setting

    @cached_property
    def exact(self) -> Trace:
        """The exact attention layers on every input of the grid; the value mapping needs their results."""
        return run(all_inputs(self.setting), self.setting, CONSTRUCTION, constant=self.network.constant)

    def __call__(self, points: Floats) -> Floats:
        """Map points in [0, 1), (inputs, d, n), to outputs of the same shape."""
        check_grid_points(points, self.setting)
        half_step = float(self.setting.half_step)
        tokens = patterns.tokens_of(self.network.order)
        out = np.empty(points.shape)
        out[:, :, tokens] = half_step * self.answer(self.attend(self.quantise(points[:, :, tokens])))
        if self.clipped:
            columns = np.array(list(self.network.values.values()))
            bound = float(np.abs(columns).max())
            out = out - relu(out - bound) + relu(-out - bound)
        return out

    def quantise(self, points: Floats) -> Floats:
        """Tokens plus embedding, rounded down to the grid by n d / delta layers of ReLUs; in half steps."""
        values = points / float(self.setting.half_step) + embedding(self.setting).astype(np.float64)
        for row in range(self.setting.d):
            for lower in range(0, 2 * self.setting.n * self.setting.steps, 2):
                values[:, row] = ramp_down(values[:, row], lower, self.ramp)
        return values

    def attend(self, values: Floats) -> Floats:
        """All selective shifts and all-max-shifts with softmax heads; values in half steps."""
        setting = self.setting
        pattern = patterns.cycle_to_previous(setting.n)
        tau = self.tau / float(setting.half_step) ** 2
        values = values.copy()
        for token in range(1, setting.n):
            for b in windows(setting, token):
                ids = project(values, setting)
                one, two = (softmax_head(ids, pattern, threshold, tau) for threshold in (b - 1, b + 1))
                values[:, 0] += setting.base * (one - two)
        for _ in range(setting.n):
            values[:, 0] += self.network.constant * softmax_head(project(values, setting), pattern, 0, tau)
        return values

    def answer(self, values: Floats) -> Floats:
        """The value mapping: one layer per id adds (output - column) to the columns in the window of the id.

        We subtract the column first. An id fills most of the 53 bits, and an output added to it would be rounded away.
        """
        setting, half_step = self.setting, float(self.setting.half_step)
        columns = self.exact.values.swapaxes(1, 2).reshape(-1, setting.d).astype(np.float64)
        for identity, column in zip(self.exact.ids.reshape(-1).tolist(), columns, strict=True):
            share = window(project(values, setting) - float(identity))[:, None]  # (inputs, 1, n)
            output = self.network.values[identity] / half_step
            values = values - share * column[:, None] + share * output[:, None]
        return values


def score_gap(network: Approximation) -> Fraction:
    """The smallest difference of the two scores that a head compares, over all layers and inputs of the grid.

    A softmax head gives the smaller score a weight of about exp(-difference / tau).
    """
    setting = network.setting
    trace = run(all_inputs(setting), setting, CONSTRUCTION, constant=network.constant, keep=True)
    shifts = [(b - 1, b + 1) for token in range(1, setting.n) for b in windows(setting, token)]
    thresholds = [*shifts, *[(0,)] * setting.n]
    smallest: int = min(
        abs((ids - threshold) * (ids - np.roll(ids, 1, axis=1))).min()
        for ids, of_layer in zip(trace.layers[:-1], thresholds, strict=True)
        for threshold in of_layer
    )
    return smallest * setting.half_step**2


def project(values: Floats, setting: Setting) -> Floats:
    """The ids u^T L, (inputs, n), in float64."""
    weights = float(setting.steps) ** np.arange(setting.d)
    ids: Floats = (weights[:, None] * values).sum(axis=1)
    return ids
