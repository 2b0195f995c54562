"""The softened proof once more, slow and close to the paper: one input, real numbers as decimals of any length."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

Matrix = list[list[Decimal]]  # (d, n), as the paper writes L
ZERO = Decimal(0)


def relu(x: Decimal) -> Decimal:
    return max(x, ZERO)


def softmax(scores: Sequence[Decimal]) -> list[Decimal]:
    powers = [(score - max(scores)).exp() for score in scores]
    return [power / sum(powers) for power in powers]


def project(matrix: Matrix, steps: int) -> list[Decimal]:
    return [sum((steps**row * line[k] for row, line in enumerate(matrix)), ZERO) for k in range(len(matrix[0]))]


def head(ids: Sequence[Decimal], keys: Sequence[int], k: int, threshold: Decimal, tau: Decimal) -> Decimal:
    weights = softmax([ids[key] * (ids[k] - threshold) / tau for key in keys])
    return sum((ids[key] * weight for key, weight in zip(keys, weights, strict=True)), ZERO)


def quantise(points: Matrix, steps: int, ramp: Decimal) -> Matrix:
    """X + E, cell after cell moved down to the grid, with a ramp at the end of each cell."""
    n, delta = len(points[0]), 1 / Decimal(steps)
    place = [n - 1, *range(n - 1)]
    matrix = [[value + place[k] for k, value in enumerate(line)] for line in points]
    for line in matrix:
        for cell in range(n * steps):
            for k in range(n):
                t = line[k] - cell * delta
                line[k] += -relu(t) + relu(t - (1 - ramp) * delta) / ramp - (1 / ramp - 1) * relu(t - delta)
    return matrix


def attend(matrix: Matrix, steps: int, tau: Decimal, constant: int) -> Matrix:
    """All shifts; every layer is the cycle in which each token attends to itself and to the one before it."""
    d, n, delta = len(matrix), len(matrix[0]), 1 / Decimal(steps)
    pattern = [((k - 1) % n, k) for k in range(n)]
    matrix = [list(line) for line in matrix]
    for token in range(1, n):
        lowest = (token - 1) * sum(steps**row for row in range(d))
        for step in range(steps**d):
            b, ids = lowest + step * delta, project(matrix, steps)
            for k, keys in enumerate(pattern):
                spread = head(ids, keys, k, b - delta / 2, tau) - head(ids, keys, k, b + delta / 2, tau)
                matrix[0][k] += steps**d * spread
    for _ in range(n):
        ids = project(matrix, steps)
        for k, keys in enumerate(pattern):
            matrix[0][k] += constant * head(ids, keys, k, ZERO, tau)
    return matrix


def answer(matrix: Matrix, steps: int, outputs: Sequence[tuple[Sequence[Decimal], Sequence[Decimal]]]) -> Matrix:
    """One layer for each (column, output): add their difference to the columns whose id is near."""
    quarter = 1 / Decimal(4 * steps)
    matrix = [list(line) for line in matrix]
    for column, output in outputs:
        identity = project([[value] for value in column], steps)[0]
        for k, found in enumerate(project(matrix, steps)):
            t = found - identity
            rise, fall = relu(t + 3 * quarter) - relu(t + quarter), relu(t - quarter) - relu(t - 3 * quarter)
            for row, line in enumerate(matrix):
                line[k] += (rise - fall) / (2 * quarter) * (output[row] - column[row])
    return matrix
