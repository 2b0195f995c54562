"""The proof once more, as slow and as close to the paper as possible: one input, real numbers as fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Matrix = list[list[Fraction]]  # (d, n), as the paper writes L


def hardmax(scores: Sequence[Fraction]) -> list[Fraction]:
    """One at the largest score; shared evenly where several are largest."""
    winners = [score == max(scores) for score in scores]
    return [Fraction(int(wins), sum(winners)) for wins in winners]


def project(matrix: Matrix, delta: Fraction) -> list[Fraction]:
    return [sum((delta**-row * line[k] for row, line in enumerate(matrix)), Fraction(0)) for k in range(len(matrix[0]))]


def head(ids: Sequence[Fraction], keys: Sequence[int], k: int, threshold: Fraction) -> Fraction:
    weights = hardmax([ids[key] * (ids[k] - threshold) for key in keys])
    return sum((ids[key] * weight for key, weight in zip(keys, weights, strict=True)), Fraction(0))


def contextual(
    grid: Matrix,
    delta: Fraction,
    selecting: Sequence[tuple[int, Sequence[Sequence[int]]]],
    spreading: Sequence[Sequence[int]],
) -> list[list[Fraction]]:
    """The ids before, after the selective shifts of the (token, pattern) given, and after each all-max-shift."""
    d, n = len(grid), len(grid[0])
    place = [n - 1, *range(n - 1)]
    matrix = [[value + place[k] for k, value in enumerate(line)] for line in grid]
    stages = [project(matrix, delta)]
    for token, pattern in selecting:
        lowest = place[token] * sum(delta**-row for row in range(d))
        for step in range(int(delta**-d)):
            b = lowest + step * delta
            ids = project(matrix, delta)
            for k, keys in enumerate(pattern):
                if keys:
                    spread = head(ids, keys, k, b - delta / 2) - head(ids, keys, k, b + delta / 2)
                    matrix[0][k] += delta**-d * spread
    stages.append(project(matrix, delta))
    for _ in range(n):
        ids = project(matrix, delta)
        for k, keys in enumerate(spreading):
            matrix[0][k] += 2 * n**2 * delta ** (-n * d - 1) * head(ids, keys, k, Fraction(0))
        stages.append(project(matrix, delta))
    return stages
