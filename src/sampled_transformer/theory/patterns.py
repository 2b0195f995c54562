"""Who attends to whom in the proof: the pairs of eq:selective_attn, and whole cycles.

A pattern holds one tuple for each token, its keys; tokens count from 0. A token without keys is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

Pattern = tuple[tuple[int, ...], ...]


def pair_as_written(n: int, i: int) -> Pattern:
    """A^i of eq:selective_attn to the letter: the token before i attends to i, and i only to itself."""
    before = (i - 1) % n
    return tuple((before, i) if k == before else (i,) if k == i else () for k in range(n))


def pair(n: int, i: int) -> Pattern:
    """A^i as the proof uses it ("A^2_1 = {1}, A^2_2 = {1, 2}"): i attends to the token before it."""
    before = (i - 1) % n
    return tuple((before, i) if k == i else (before,) if k == before else () for k in range(n))


def cycle_to_next(n: int) -> Pattern:
    """The whole cycle, every token attends to itself and the next (Fig. 1d): the pattern of the all-max-shift."""
    return tuple((k, (k + 1) % n) for k in range(n))


def cycle_to_previous(n: int) -> Pattern:
    """The same cycle walked the other way, which is all pairs A^1 ... A^n at once."""
    return tuple(((k - 1) % n, k) for k in range(n))


def path(size: int) -> Pattern:
    """Eq. 4: the pattern inside one subset; the last token attends to itself alone."""
    return tuple((k, k + 1) if k + 1 < size else (k,) for k in range(size))


def from_successor(successor: Sequence[int]) -> Pattern:
    """Every token attends to itself and its successor, as `Cycle.successor` tells."""
    return tuple((k, following) for k, following in enumerate(successor))


def tokens_of(order: Sequence[int]) -> list[int]:
    """Which point of a cycle plays token 0, 1, ..., so that each token's successor is the token before it.

    `order` is the cycle written out, `Cycle.order[0].tolist()`.
    """
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"order: expected each of 0 to {len(order) - 1} once, got {list(order)}")
    return list(order)[::-1]


def reach(pattern: Pattern, layers: int) -> list[set[int]]:
    """The tokens that each token has attended to, directly or not, after so many layers of one pattern."""
    seen = [{k} for k in range(len(pattern))]
    for _ in range(layers):
        seen = [seen[k].union(*(seen[key] for key in keys)) for k, keys in enumerate(pattern)]
    return seen
