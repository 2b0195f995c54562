"""Columns of unlike units on one scale, learnt from the training sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .inputs import PackedSets

QUANTILES = 65  # knots of the rank
MOST_ROWS = 200_000  # a larger sample moves no quantile that matters


@dataclass(frozen=True)
class Scaling:
    """Every column twice: standardised, and as its rank among the training values.

        z = clip((x - mean) / std, -5, 5)          r = 2 F(x) - 1,   F the distribution of the training values

    z keeps distances and r spreads out what is crowded: heavy tails and many equal values need no choice of a
    transform. Both are bounded, so one absurd value in a new set cannot drown the others.
    """

    mean: np.ndarray  # (d,)
    std: np.ndarray  # (d,), 1 where a column never changes
    knots: np.ndarray  # (QUANTILES, d)
    size_mean: float
    size_std: float
    size_limits: tuple[float, float]

    @classmethod
    def fit(cls, sets: PackedSets) -> Scaling:
        rows = sets.rows if len(sets.rows) else np.zeros((1, sets.rows.shape[1]), np.float32)
        rows = rows[:: max(1, len(rows) // MOST_ROWS)].astype(np.float64)
        std = rows.std(0)
        sizes = np.log1p(sets.sizes)
        return cls(
            mean=rows.mean(0),
            std=np.where(std > 1e-8 * np.abs(rows).max(0), std, 1.0),
            knots=np.quantile(rows, np.linspace(0, 1, QUANTILES), axis=0),
            size_mean=float(sizes.mean()),
            size_std=float(sizes.std()) or 1.0,
            size_limits=(float(sizes.min()), float(sizes.max())),
        )

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """Rows (total, d) -> (total, 2 d), float32."""
        standard = ((rows - self.mean) / self.std).clip(-5, 5)
        return np.concatenate([standard, self._ranks(rows)], axis=1).astype(np.float32)

    def positions(self, rows: np.ndarray, chosen: tuple[int, ...]) -> np.ndarray:
        """The chosen columns as positions, float32: centred, and divided by one factor, so that directions stay."""
        spread = np.sqrt((self.std[list(chosen)] ** 2).sum())
        positions: np.ndarray = (rows[:, chosen] - self.mean[list(chosen)]) / spread
        return positions.clip(-5, 5).astype(np.float32)

    def sizes(self, sizes: np.ndarray) -> np.ndarray:
        """The logarithm of each set's size, standardised and inside the range of the training sets, (sets, 1)."""
        inside = np.log1p(sizes).clip(*self.size_limits)
        scaled: np.ndarray = (inside - self.size_mean) / self.size_std
        return scaled[:, None].astype(np.float32)

    def _ranks(self, rows: np.ndarray) -> np.ndarray:
        """2 F(x) - 1 per column. Equal values get the middle of their ranks: the mean from below and from above."""
        levels = np.linspace(-1, 1, len(self.knots))
        ranks = np.empty(rows.shape)
        for column in range(rows.shape[1]):
            x, knots = rows[:, column].astype(np.float64), self.knots[:, column]
            above = np.interp(x, knots, levels)
            below = -np.interp(-x, -knots[::-1], levels)
            ranks[:, column] = (above + below) / 2
        return ranks
