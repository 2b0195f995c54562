"""The contextual mapping (Definition 3.2): selective shifts followed by all-max-shifts (appendix E.2).

Definition 3.2: q maps every input L of the grid to n ids such that (1) the ids of one input are all different, and
(2) two different inputs have no id in common.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..support.registry import look_up
from . import patterns
from .grid import Delta, Integers, Setting, all_inputs, embedding, random_inputs
from .heads import all_max_shift, project, selective_shift
from .patterns import Pattern

EXHAUSTIVE = 100_000  # by default, we run grids of up to this many inputs completely


@dataclass(frozen=True)
class Construction:
    """One reading of the proof: the patterns of the selective shifts for token i and of the all-max-shifts.

    `first` is the first token to shift: 1, because the closed forms do not change l_1, or 0 to include g^1.
    """

    title: str
    select: Callable[[int, int], Pattern]
    spread: Callable[[int], Pattern]
    first: int = 1


CONSTRUCTIONS = {
    "pairs": Construction("the proof with the pairs of its closed forms", patterns.pair, patterns.cycle_to_next),
    "written": Construction("eq:selective_attn as written", patterns.pair_as_written, patterns.cycle_to_next),
    "closed": Construction("all of g^1 ... g^n, as in SAttn", patterns.pair, patterns.cycle_to_next, first=0),
    "cycle": Construction(
        "whole cycles in one direction", lambda n, i: patterns.cycle_to_previous(n), patterns.cycle_to_previous
    ),
}


@dataclass
class Trace:
    """A construction applied to a batch of inputs: the ids u^T L, (inputs, n), in half steps, after each stage."""

    setting: Setting
    inputs: Integers  # (inputs, d, n), without the embedding
    start: Integers  # l_1 ... l_n, the ids before the first layer
    selected: Integers  # l~_1 ... l~_n, the ids after all selective shifts
    spread: list[Integers]  # the ids after each all-max-shift
    values: Integers  # (inputs, d, n), the output of the last layer
    layers: list[Integers] = field(default_factory=list)  # the ids after every layer, with keep=True
    attentions: int = 0  # number of attention layers

    @property
    def ids(self) -> Integers:
        """q(L), the ids after the last layer."""
        return self.spread[-1]


def run(
    inputs: Integers,
    setting: Setting,
    construction: str = "pairs",
    *,
    constant: int | None = None,
    keep: bool = False,
) -> Trace:
    """Send inputs of the grid, (inputs, d, n), through all layers of a construction.

    `constant` replaces the constant c of the all-max-shifts; `keep` stores the ids after every layer.
    """
    reading = look_up("construction", construction, CONSTRUCTIONS)
    return run_patterns(
        inputs,
        setting,
        {token: reading.select(setting.n, token) for token in range(reading.first, setting.n)},
        reading.spread(setting.n),
        constant=constant,
        keep=keep,
    )


def run_patterns(
    inputs: Integers,
    setting: Setting,
    select: dict[int, Pattern],
    spread: Pattern,
    *,
    constant: int | None = None,
    keep: bool = False,
) -> Trace:
    """Apply delta^-d selective shifts per token of `select`, in its order, then n all-max-shifts."""
    values = inputs + embedding(setting)
    start = project(values, setting)
    trace = Trace(setting, inputs, start, start, [], values, [start] if keep else [])
    for token, pattern in select.items():
        for b in windows(setting, token):
            values = selective_shift(values, pattern, b, setting)
            trace.attentions += 1
            if keep:
                trace.layers.append(project(values, setting))
    trace.selected = project(values, setting)
    for _ in range(setting.n):
        values = all_max_shift(values, spread, setting, constant)
        trace.spread.append(project(values, setting))
    trace.values = values
    trace.attentions += setting.n
    trace.layers += trace.spread if keep else []
    return trace


def windows(setting: Setting, token: int) -> range:
    """The ids that a token can have before it is shifted, in half steps. Each needs one selective shift."""
    place = setting.n - 1 if token == 0 else token - 1
    lowest = 2 * setting.steps * setting.spacing * place
    return range(lowest, lowest + 2 * setting.base, 2)


def identify(
    inputs: Integers,
    setting: Setting,
    construction: str = "cycle",
    order: Sequence[int] | None = None,
    constant: int | None = None,
) -> Integers:
    """The ids q(L), (inputs, n), of points whose embedding follows the cycle `order` (`Cycle.order[0].tolist()`)."""
    tokens = patterns.tokens_of(range(setting.n) if order is None else order)
    if len(tokens) != setting.n:
        raise ValueError(f"order: expected {setting.n} points, got {len(tokens)}")
    ids = np.empty((len(inputs), setting.n), dtype=object)
    ids[:, tokens] = run(inputs[:, :, tokens], setting, construction, constant=constant).ids
    return ids


@dataclass(frozen=True)
class Verdict:
    """The result of checking Definition 3.2: `within` and `between` are None, or a counter-example in words."""

    setting: Setting
    inputs: int
    exhaustive: bool
    attentions: int
    digits: int  # number of digits of the largest id, counted in multiples of delta
    within: str | None  # rule 1: the ids of one input are different
    between: str | None  # rule 2: different inputs share no id

    @property
    def holds(self) -> bool:
        """Whether both rules hold."""
        return self.within is None and self.between is None


def contextual_mapping(
    n: int,
    d: int,
    delta: Delta,
    *,
    construction: str = "pairs",
    limit: int = EXHAUSTIVE,
    samples: int = 2000,
    seed: int = 0,
) -> Verdict:
    """Run the construction on every input of the grid and check Definition 3.2.

    For a grid of more than `limit` inputs we use `samples` random inputs.
    """
    setting = Setting.of(n, d, delta)
    exhaustive = setting.inputs <= limit
    inputs = all_inputs(setting) if exhaustive else random_inputs(setting, samples, seed)
    trace = run(inputs, setting, construction)
    largest = int(trace.ids.max()) // 2
    return Verdict(
        setting,
        len(inputs),
        exhaustive,
        trace.attentions,
        len(str(largest)),
        repeated_within(trace, trace.ids),
        repeated_between(trace, trace.ids),
    )


def repeated_within(trace: Trace, ids: Integers) -> str | None:
    """Rule 1 of Definition 3.2: describe an input with two equal ids, or return None."""
    for row, line in enumerate(ids.tolist()):
        if len(set(line)) < len(line):
            return f"{describe(trace, row)} has ids {numbers(trace.setting, line)}"
    return None


def repeated_between(trace: Trace, ids: Integers) -> str | None:
    """Rule 2 of Definition 3.2: describe two inputs that share an id, or return None."""
    owner: dict[int, tuple[int, int]] = {}
    for row, line in enumerate(ids.tolist()):
        for token, identity in enumerate(line):
            other, place = owner.setdefault(identity, (row, token))
            if other != row:
                return (
                    f"{describe(trace, other)} token {place + 1} and {describe(trace, row)} token {token + 1} "
                    f"share the id {trace.setting.real(identity)}"
                )
    return None


def describe(trace: Trace, row: int) -> str:
    """An input as text: the columns of G, one per token."""
    columns = trace.inputs[row].T.tolist()
    return "G=" + "|".join(numbers(trace.setting, column) for column in columns)


def numbers(setting: Setting, values: Sequence[int]) -> str:
    """Values in half steps as the numbers they stand for, as text."""
    return ",".join(str(setting.real(value)) for value in values)
