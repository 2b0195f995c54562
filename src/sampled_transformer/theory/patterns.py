"""Who attends to whom in the proof: the pairs of eq:selective_attn, and whole cycles.

A pattern has one tuple per token with its keys. Tokens count from 0. A layer does not change tokens without keys.
"""

from __future__ import annotations

from collections.abc import Sequence

Pattern = tuple[tuple[int, ...], ...]


def pair_as_written(n: int, i: int) -> Pattern:
    """A^i exactly as in eq:selective_attn: the token before i attends to i, and i attends only to itself."""
    before = (i - 1) % n
    return tuple((before, i) if k == before else (i,) if k == i else () for k in range(n))


def pair(n: int, i: int) -> Pattern:
    """A^i as the proof uses it ("A^2_1 = {1}, A^2_2 = {1, 2}"): token i attends to the token before it."""
    before = (i - 1) % n
    return tuple((before, i) if k == i else (before,) if k == before else () for k in range(n))


def cycle_to_next(n: int) -> Pattern:
    """The pattern of the all-max-shift: a whole cycle, every token attends to itself and the next (Fig. 1d)."""
    return tuple((k, (k + 1) % n) for k in range(n))


def cycle_to_previous(n: int) -> Pattern:
    """The same cycle in the opposite direction, which is all pairs A^1 ... A^n at once."""
    return tuple(((k - 1) % n, k) for k in range(n))


def path(size: int) -> Pattern:
    """Eq. 4: the pattern inside one subset. Token k attends to k and k + 1, the last token only to itself."""
    return tuple((k, k + 1) if k + 1 < size else (k,) for k in range(size))


def from_successor(successor: Sequence[int]) -> Pattern:
    """Every token attends to itself and to its successor, as given by `Cycle.successor`."""
    return tuple((k, following) for k, following in enumerate(successor))


def tokens_of(order: Sequence[int]) -> list[int]:
    """Number the points of a cycle as tokens 0, 1, ..., such that the successor of each token is the token before it.

    `order` lists the points along the cycle, `Cycle.order[0].tolist()`.
    """
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"order: expected each of 0 to {len(order) - 1} once, got {list(order)}")
    return list(order)[::-1]


def reach(pattern: Pattern, layers: int) -> list[set[int]]:
    """The tokens that each token has attended to, directly or indirectly, after this many layers of one pattern."""
    seen = [{k} for k in range(len(pattern))]
    for _ in range(layers):
        seen = [seen[k].union(*(seen[key] for key in keys)) for k, keys in enumerate(pattern)]
    return seen
