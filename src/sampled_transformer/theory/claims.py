"""The statements of appendix E as checks: each returns None if it holds, or a counter-example in words.

steps.py lists them in the paper's order. A check reads a trace of the construction "pairs". Ids are in half steps: the
number delta is 2, and the number 1 is 2 / delta.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, permutations
from math import comb

import numpy as np

from . import patterns
from .bounds import gap_chain, remainder_chain, selected_interval, upper_bound_as_written
from .contextual import Trace, describe, numbers, repeated_between, repeated_within, run, run_patterns
from .grid import Integers, Setting, all_inputs, embedding_from_coordinates

Check = Callable[[Trace], str | None]


@dataclass(frozen=True)
class Claim:
    """One statement: where the paper makes it, how to check it and, if it fails, how to repair it.

    `ours` marks questions that the paper does not answer but a reader may ask.
    """

    name: str
    place: str
    statement: str
    check: Check
    repair: str = ""
    ours: bool = False

    @property
    def expected(self) -> bool:
        """Whether the statement holds as written; those that fail have a repair."""
        return not self.repair


def first_failure(trace: Trace, holds: Integers, shown: Integers) -> str | None:
    """Describe the first input for which `holds` (inputs, ...) is not True everywhere, with its ids `shown`."""
    failed = np.flatnonzero(~holds.reshape(len(trace.inputs), -1).all(axis=1))
    if not len(failed):
        return None
    row = int(failed[0])
    return f"{describe(trace, row)}: ids {numbers(trace.setting, shown[row].tolist())}"


def mismatch(trace: Trace, got: Integers, expected: Integers) -> str | None:
    """Describe the first input whose ids differ from the ids of a formula."""
    failed = np.flatnonzero((got != expected).any(axis=1))
    if not len(failed):
        return None
    row = int(failed[0])
    found, formula = (numbers(trace.setting, ids[row].tolist()) for ids in (got, expected))
    return f"{describe(trace, row)}: {found}, not {formula}"


def order_before(trace: Trace) -> str | None:
    """l_2 < l_3 < ... < l_n < l_1."""
    rolled = np.roll(trace.start, -1, axis=1)
    return first_failure(trace, rolled[:, :-1] < rolled[:, 1:], trace.start)


def projection_on_cells(trace: Trace) -> str | None:
    """u^T is one-to-one on the values of each column."""
    for token in range(trace.setting.n):
        columns = {tuple(column) for column in trace.inputs[:, :, token].tolist()}
        if len(columns) != len(set(trace.start[:, token].tolist())):
            return f"token {token + 1}: two columns share an id"
    return None


def projection_on_all(trace: Trace) -> str | None:
    """u^T is one-to-one on all of {0, delta, ..., n - delta}^d."""
    setting = trace.setting
    seen: dict[int, tuple[int, ...]] = {}
    for column in np.ndindex(*[setting.n * setting.steps] * setting.d):
        identity = sum(setting.steps**row * value for row, value in enumerate(column))
        other = seen.setdefault(identity, column)
        if other != column:
            one, two = (",".join(str(value * setting.delta) for value in each) for each in (other, column))
            return f"columns ({one}) and ({two}) share the id {identity * setting.delta}"
    return None


def shift_with_written_pairs(trace: Trace) -> str | None:
    """With the pairs of eq:selective_attn as written, l~_2 = l_2 + delta^-d (l_1 - l_2)."""
    written = run(trace.inputs, trace.setting, "written").selected
    return mismatch(trace, written[:, :2], closed_form(trace)[:, :2])


def closed_forms(trace: Trace) -> str | None:
    """The selective shifts give the closed form of every l~_j."""
    return mismatch(trace, trace.selected, closed_form(trace))


def closed_form(trace: Trace) -> Integers:
    """l~_j = l_j + sum_{k=1}^{j-2} delta^(-kd) (l_(j-k) - l_(j-k+1)) + delta^(-(j-1)d) (l_1 - l_2), and l~_1 = l_1."""
    start, base = trace.start, trace.setting.base
    out = start.copy()
    for j in range(2, trace.setting.n + 1):
        for k in range(1, j - 1):
            out[:, j - 1] += base**k * (start[:, j - k - 1] - start[:, j - k])
        out[:, j - 1] += base ** (j - 1) * (start[:, 0] - start[:, 1])
    return out


def closed_forms_with_all(trace: Trace) -> str | None:
    """The closed forms also hold if all n pairs take part, including g^1."""
    return mismatch(trace, run(trace.inputs, trace.setting, "closed").selected, closed_form(trace))


def order_after(trace: Trace) -> str | None:
    """(n - 1) Delta <= l_1 < l~_2 < ... < l~_n."""
    setting, ids = trace.setting, trace.selected
    lowest = (setting.n - 1) * setting.spacing * 2 * setting.steps
    return first_failure(trace, (ids[:, :-1] < ids[:, 1:]) & (ids[:, :1] >= lowest), ids)


def inside_intervals(trace: Trace) -> str | None:
    """Every l~_j lies in `selected_interval`."""
    bounds = [selected_interval(trace.setting, j) for j in range(1, trace.setting.n + 1)]
    lower, upper = (np.array(side, dtype=object) / trace.setting.half_step for side in zip(*bounds, strict=True))
    return first_failure(trace, (trace.selected >= lower) & (trace.selected <= upper), trace.selected)


def gap_inequalities(trace: Trace) -> str | None:
    """Each line of `gap_chain` follows from the one before."""
    for i in range(2, trace.setting.n):
        exact, second, *weaker = gap_chain(trace.setting, i)
        if exact != second or any(one < two for one, two in pairwise([second, *weaker])):
            return f"i={i}: {', '.join(map(str, (exact, second, *weaker)))}"
    return None


def gaps_positive(trace: Trace) -> str | None:
    """The true ranges of l~_i and l~_(i+1) are disjoint."""
    ids, setting = trace.selected, trace.setting
    for i in range(1, setting.n):
        highest, lowest = ids[:, i - 1].max(), ids[:, i].min()
        if highest >= lowest:
            return f"token {i} reaches {setting.real(highest)}, token {i + 1} begins at {setting.real(lowest)}"
    return None


def selected_is_contextual(trace: Trace) -> str | None:
    """The selective shifts alone are a contextual mapping."""
    return repeated_between(trace, trace.selected)


def one_to_one(ids: Integers, trace: Trace, tokens: Iterable[int]) -> str | None:
    """[l_1 ... l_n] -> l~_k is one-to-one for each k in `tokens`."""
    for token in tokens:
        seen: dict[int, int] = {}
        for row, identity in enumerate(ids[:, token].tolist()):
            if seen.setdefault(identity, row) != row:
                pair = f"{describe(trace, seen[identity])} and {describe(trace, row)}"
                return f"{pair} share l~_{token + 1} = {trace.setting.real(identity)}"
    return None


def upper_bound_written(trace: Trace) -> str | None:
    """l~_i <= `upper_bound_as_written` for i >= 2."""
    setting = trace.setting
    for i in range(2, setting.n + 1):
        highest = setting.real(trace.selected[:, i - 1].max())
        if highest > upper_bound_as_written(setting, i):
            return f"l~_{i} reaches {highest}, the bound is {upper_bound_as_written(setting, i)}"
    return None


def upper_bound_final(trace: Trace) -> str | None:
    """l~_i <= n delta^(-id) - delta."""
    setting = trace.setting
    bound = np.array([setting.n * setting.base**i * 2 * setting.steps - 2 for i in range(1, setting.n + 1)])
    return first_failure(trace, trace.selected <= bound, trace.selected)


def first_shift_as_written(trace: Trace) -> str | None:
    """u^T M^1_k = l~_k + c l~_(k+1 mod n)."""
    following = np.roll(trace.selected, -1, axis=1)
    return mismatch(trace, trace.spread[0], trace.selected + trace.setting.all_max_constant * following)


def order_of_first_shift(trace: Trace) -> str | None:
    """l~_(k+1 mod n) < l~_(k'+1 mod n) implies u^T M^1_k < u^T M^1_k'."""
    following, shifted = np.roll(trace.selected, -1, axis=1), trace.spread[0]
    smaller = following[:, :, None] < following[:, None]
    return first_failure(trace, ~smaller | (shifted[:, :, None] < shifted[:, None]), shifted)


def shifts_in_closed_form(trace: Trace) -> str | None:
    """u^T M^t_k = sum_{i=0}^{t} binomial(t, i) c^i l~_min(k+i, n), for every layer t."""
    n, c = trace.setting.n, trace.setting.all_max_constant
    for t, ids in enumerate(trace.spread, start=1):
        expected = np.zeros_like(ids)
        for i in range(t + 1):
            expected += comb(t, i) * c**i * trace.selected[:, [min(k + i, n - 1) for k in range(n)]]
        failure = mismatch(trace, ids, expected)
        if failure is not None:
            return f"layer {t}, {failure}"
    return None


def second_shift_as_written(trace: Trace) -> str | None:
    """u^T M^2_k = l~_k + 2 c l~_(k+1 mod n) + c^2 l~_(k+2 mod n)."""
    c, ids = trace.setting.all_max_constant, trace.selected
    expected = ids + 2 * c * np.roll(ids, -1, axis=1) + c**2 * np.roll(ids, -2, axis=1)
    return mismatch(trace, trace.spread[1], expected)


def remainder_inequalities(trace: Trace) -> str | None:
    """Each line of `remainder_chain` is at most the next."""
    chain = remainder_chain(trace.setting)
    return None if all(one <= two for one, two in pairwise(chain)) else str(chain)


def powers_below_two(trace: Trace) -> str | None:
    """eq:ineq_for_allmax: ((2n+1)/2n)^k increases with k, and is at most 2 for k = n."""
    ratio = Fraction(2 * trace.setting.n + 1, 2 * trace.setting.n)
    powers = [ratio**power for power in range(1, trace.setting.n + 1)]
    return None if powers == sorted(powers) and powers[-1] <= 2 else f"{powers}"


def inside_final_interval(trace: Trace) -> str | None:
    """u^T M^n_k is in [c^n l~_n, c^n (l~_n + delta))."""
    c = trace.setting.all_max_constant**trace.setting.n
    lower = c * trace.selected[:, -1:]
    return first_failure(trace, (trace.ids >= lower) & (trace.ids < lower + 2 * c), trace.ids)


def after_layers(trace: Trace, layers: int) -> str | None:
    """Definition 3.2 holds after this many all-max-shifts."""
    ids = trace.spread[layers - 1] if layers else trace.selected
    return repeated_within(trace, ids) or repeated_between(trace, ids)


def shift_keeps_ids_apart(trace: Trace) -> str | None:
    """An all-max-shift keeps different ids of an input different, for any c."""
    n = trace.setting.n
    for c in (1, 2):
        for ids in np.ndindex(*[2 * n] * n):
            shifted = [ids[k] + c * max(ids[k], ids[(k + 1) % n]) for k in range(n)]
            if len(set(ids)) == n and len(set(shifted)) < n:
                return f"c={c}: ids {ids} become {tuple(shifted)}"
    return None


def one_direction(trace: Trace) -> str | None:
    """The construction "cycle": the same l~_j; after n - 1 and n all-max-shifts, ids fall in the order n, 1, 2, ..."""
    cycle = run(trace.inputs, trace.setting, "cycle")
    constant = trace.setting.all_max_constant
    for layers in (trace.setting.n - 1, trace.setting.n):
        ids, lower = cycle.spread[layers - 1], constant**layers * trace.selected[:, -1:]
        falling = np.roll(ids, 1, axis=1)
        inside = (ids >= lower) & (ids < lower + 2 * constant**layers)
        failure = first_failure(trace, inside.all(axis=1, keepdims=True) & (falling[:, :-1] > falling[:, 1:]), ids)
        if failure is not None:
            return f"{layers} layers: {failure}"
    return mismatch(trace, cycle.selected, closed_form(trace))


def embedding_for_all_orders(trace: Trace) -> str | None:
    """One W_p gives the embedding E = W_p P for a cloud P and for the same cloud in reverse order."""
    n = trace.setting.n
    cloud = [[k + 1, 0, 0] for k in range(n)]
    cloud = [*np.eye(3, dtype=int).tolist(), *cloud][:n]
    if embedding_from_coordinates([cloud, cloud[::-1]]):
        return None
    return f"no W_p serves both P={cloud} and P={cloud[::-1]}"


def subset_sees_itself(trace: Trace) -> str | None:
    """With the path of Eq. 4, n_s - 1 layers connect every pair of a subset."""
    n = trace.setting.n
    seen = patterns.reach(patterns.path(n), n - 1)
    blind = [k for k in range(n) if len(seen[k]) < n]
    return f"n_s={n}: token {blind[0] + 1} reaches only {sorted(k + 1 for k in seen[blind[0]])}" if blind else None


def cycle_sees_itself(trace: Trace) -> str | None:
    """With the closed cycle, n - 1 layers connect every pair of tokens."""
    n = trace.setting.n
    return None if all(len(seen) == n for seen in patterns.reach(patterns.cycle_to_next(n), n - 1)) else f"n={n}"


def every_cycle_serves(trace: Trace) -> str | None:
    """The same layers and embedding give a contextual mapping for all (n-1)! cycles."""
    failures = [successor for successor in all_successors(trace.setting.n) if not serves(trace, successor)]
    if not failures:
        return None
    total = sum(1 for _ in all_successors(trace.setting.n))
    return f"only {total - len(failures)} of {total} cycles; not 1 -> {written_out(failures[0])}"


def all_successors(n: int) -> Iterator[list[int]]:
    """Yield every Hamiltonian cycle of n tokens as its successors."""
    for rest in permutations(range(1, n)):
        order, successor = [0, *rest], [0] * n
        for one, two in zip(order, [*rest, 0], strict=True):
            successor[one] = two
        yield successor


def written_out(successor: list[int]) -> str:
    """The cycle from the successor of token 1 back to token 1, as text."""
    order = [successor[0]]
    while order[-1] != 0:
        order.append(successor[order[-1]])
    return " -> ".join(str(k + 1) for k in order)


def serves(trace: Trace, successor: list[int]) -> bool:
    """Whether layers with this cycle are a contextual mapping if the embedding stays the same."""
    pattern = patterns.from_successor(successor)
    n = trace.setting.n
    other = run_patterns(trace.inputs, trace.setting, dict.fromkeys(range(1, n), pattern), pattern)
    return repeated_within(other, other.ids) is None and repeated_between(other, other.ids) is None


def settings_by_size(largest: int, most: int = 5) -> list[Setting]:
    """All settings with at most `largest` inputs and `most` tokens, smallest grid first."""
    found = [
        Setting(n, d, steps)
        for n in range(2, most + 1)
        for d in range(1, 5)
        for steps in range(2, 9)
        if steps ** (n * d) <= largest
    ]
    return sorted(found, key=lambda setting: (setting.inputs, setting.n, setting.d))


def counterexamples(claims: Iterable[Claim], largest: int = 512) -> Iterator[tuple[Claim, Setting | None, str | None]]:
    """Yield each claim with the smallest grid on which it fails and the counter-example (None, None if it holds).

    We run every input of every grid with at most `largest` inputs.
    """
    traces = [run(all_inputs(setting), setting) for setting in settings_by_size(largest)]
    for claim in claims:
        found = ((trace.setting, claim.check(trace)) for trace in traces)
        yield claim, *next(((setting, failure) for setting, failure in found if failure is not None), (None, None))
