"""Sampled attention (Eq. 3 to 5): a random Hamiltonian cycle instead of all pairs."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cycles import Cycle
from ..sets import Sets
from .base import Attention
from .kernels import (
    few_keys,
    few_keys_and_rest,
    following,
    group_attention,
    pair_attention,
    restore,
    summary_attention,
    take,
)
from .sequential import attend_in_turn
from .walks import curve_cycle, join_heads, random_turn, seeded_turn


class SampledAttention(Attention):
    """Every point attends to itself and to its successor in a random cycle (Eq. 5).

    In training each call draws a fresh cycle: one for a whole batch, one for each padded or packed set. In evaluation
    the cycle is a function of the size of the set, the seed and the layer, so that the same input gives the same
    output in any process.

    Args:
        subset: n_s of Eq. 3, the points of a subset. With the Hamiltonian pattern and parallel subsets it changes
            nothing: together they make one cycle. Default 2, or 32 with `inner="dense"`.
        inner: the pattern inside a subset, "hamiltonian" (Eq. 4) or "dense" (Fig. 1b).
        composition: "parallel" updates every point once, as a member of its own subset; "sequential" is Eq. 5c to the
            letter, each subset after the one before, so that a point shared by two subsets is updated twice. It takes
            one step of Python for each subset.
        cycles: "shared" by all heads, or one "per-head".
        rounds: how many of the points that follow it in the cycle every point reads besides itself, in one softmax. For
            each point they are a random sample of the others without repetition: with n - 1 of them the layer is dense.
        estimator: "plain" lets every key count once, as the paper; "consistent" lets each of the R others stand for
            (n - 1) / R points, so that the result tends to dense attention as R grows.
        rest: what becomes of the points that are not read: "ignored", or read through the sums of "linear" attention.
        order: the cycle is "random", follows a "morton" or "hilbert" curve through the positions, which is turned at
            random, or is "mixed": the first half of the heads follow a Hilbert curve, the others a random cycle.
        summed: how many heads, the first ones, read sums over the whole set instead of walking the cycle: O(n) too,
            and without chance, see `summary_attention`.
        samples: cycles to average in evaluation.
        seed: chooses the cycles of evaluation.
        generator: source of the cycles of training; torch's global one if not given. Activation checkpointing restores
            only the global one, and would draw another cycle when it computes again: give `cycle` there.
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        subset: int | None = None,
        inner: str = "hamiltonian",
        composition: str = "parallel",
        cycles: str = "shared",
        rounds: int = 1,
        estimator: str = "plain",
        rest: str = "ignored",
        order: str = "random",
        summed: int = 0,
        samples: int = 1,
        seed: int = 0,
        generator: torch.Generator | None = None,
        head_dim: int | None = None,
        bias: bool = False,
        scale: float | None = None,
        layer: int = 0,
    ) -> None:
        super().__init__(dim, heads, head_dim=head_dim, bias=bias, scale=scale, layer=layer)
        for name, choice, choices in (
            ("inner", inner, ("hamiltonian", "dense")),
            ("composition", composition, ("parallel", "sequential")),
            ("cycles", cycles, ("shared", "per-head")),
            ("estimator", estimator, ("plain", "consistent")),
            ("rest", rest, ("ignored", "linear")),
            ("order", order, ("random", "morton", "hilbert", "mixed")),
        ):
            if choice not in choices:
                raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {choice!r}")
        if composition == "sequential" and cycles == "per-head":
            raise ValueError("cycles: expected 'shared' with composition='sequential', whose heads update together")
        if rounds < 1:
            raise ValueError(f"rounds: expected at least 1, got {rounds}")
        self.walks = inner == "hamiltonian" and composition == "parallel"
        if not self.walks and (rounds, estimator, rest) != (1, "plain", "ignored"):
            raise ValueError("rounds, estimator, rest: expected their defaults with subsets or in sequence")
        if rest == "linear" and estimator == "consistent":
            raise ValueError("estimator: expected 'plain' with rest='linear', which already stands for all points")
        if not 0 <= summed <= heads or (summed and composition == "sequential"):
            raise ValueError(
                f"summed: expected 0 to {heads} heads, and parallel composition for more than 0, got {summed}"
            )
        self.summed, self.walkers = summed, heads - summed
        if order == "mixed" and (self.walkers < 2 or composition == "sequential"):
            raise ValueError("order: expected at least 2 heads and parallel composition for 'mixed'")
        self.rounds, self.estimator, self.rest, self.order = rounds, estimator, rest, order
        self.needs_positions = order != "random" and self.walkers > 0
        self.subset = subset if subset is not None else (32 if inner == "dense" else 2)
        if self.subset < 2:
            raise ValueError(f"subset: expected at least 2 points, got {subset}")
        if samples < 1:
            raise ValueError(f"samples: expected at least 1 cycle, got {samples}")
        self.inner, self.composition, self.cycles = inner, composition, cycles
        self.takes_packed = composition == "parallel" and rest == "ignored" and not summed
        self.samples, self.seed, self.generator = samples, seed, generator

    def mix(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None) -> Tensor:
        if self.composition == "parallel":
            return super().mix(x, positions, sets, cycle)
        drawn = self.draw(x, sets, cycle, positions)
        return sum((attend_in_turn(self, x, sets, one) for one in drawn), x.new_zeros(())) / len(drawn)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None
    ) -> Tensor:
        if not self.summed:
            return self.walk(query, key, value, positions, sets, cycle)
        parts = [self.summed, self.walkers]
        far_query, query = query.split(parts, 2)
        far_key, key = key.split(parts, 2)
        far_value, value = value.split(parts, 2)
        summary = summary_attention(far_query, far_key, far_value, sets.mask)
        if not self.walkers:
            return summary
        return torch.cat([summary, self.walk(query, key, value, positions, sets, cycle)], 2)

    def walk(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None
    ) -> Tensor:
        """The mean over the cycles of this call."""
        drawn = self.draw(query, sets, cycle, positions)
        first, *others = [self.along(query, key, value, sets, one) for one in drawn]
        return first if not others else torch.stack([first, *others]).mean(0)

    def along(self, query: Tensor, key: Tensor, value: Tensor, sets: Sets, cycle: Cycle) -> Tensor:
        """Eq. 5a with the pattern of Eq. 4, and its variants."""
        if not self.walks:
            return self.attend_in_windows(query, key, value, cycle)
        successor = cycle.with_batch(cycle.successor)
        if (self.rounds, self.estimator, self.rest) == (1, "plain", "ignored"):
            return pair_attention(query, key, value, successor, self.scale)
        index = following(successor, self.rounds)
        shape = (*query.shape[:2], self.rounds, *query.shape[2:])
        keys, values = (take(x, index.flatten(2)).view(shape) for x in (key, value))
        few = query, key, value, keys, values, self.weights(cycle), self.scale
        return few_keys(*few) if self.rest == "ignored" else few_keys_and_rest(*few, sets.mask)

    def weights(self, cycle: Cycle) -> Tensor:
        """How many points each of the following ones stands for, (batch or 1, n or 1, rounds); none beyond the set."""
        others = cycle.sizes()[..., None] - 1
        turn = torch.arange(1, self.rounds + 1, device=others.device)
        counts = (turn <= others).to(torch.float32)
        if self.estimator == "consistent":
            counts = counts * others / others.clamp(min=1, max=self.rounds)
        return counts

    def attend_in_windows(self, query: Tensor, key: Tensor, value: Tensor, cycle: Cycle) -> Tensor:
        """Fig. 1b: every point attends to all points of its own subset, the link to the next included."""
        size = min(self.subset, cycle.longest + 1)  # a larger one holds nothing but padding
        own = cycle.with_batch(cycle.members(size))
        rows = group_attention(query, key, value, own, cycle.with_batch(cycle.subsets(size)), self.scale)
        return restore(rows, own.flatten(2), query.shape[1])

    def draw(self, x: Tensor, sets: Sets, cycle: Cycle | None, positions: Tensor | None = None) -> list[Cycle]:
        """The cycles of this call: the given one, a fresh one in training, `samples` fixed ones in evaluation."""
        if cycle is not None:
            return [cycle]
        if self.training:
            return [self.draw_one(x, positions, sets, None)]
        return [self.draw_one(x, positions, sets, (self.seed, self.layer, sample)) for sample in range(self.samples)]

    def draw_one(self, x: Tensor, positions: Tensor | None, sets: Sets, seed: tuple[int, ...] | None) -> Cycle:
        """A cycle that belongs to the seed, or a fresh one."""
        if positions is not None and self.order != "random":
            return self.follow_curve(x, positions, sets, seed)
        return self.random_cycle(x, sets, seed, self.walkers if self.cycles == "per-head" else 1)

    def random_cycle(self, x: Tensor, sets: Sets, seed: tuple[int, ...] | None, heads: int) -> Cycle:
        n, device = x.shape[1], x.device
        if seed is None:
            return Cycle.sample(n, heads, self.generator, device, mask=sets.mask, ptr=sets.ptr)
        return Cycle.from_seed(seed, n, heads, device, mask=sets.mask, ptr=sets.ptr)

    @torch.compiler.disable  # a search, not arithmetic: a graph of it takes minutes to build
    def follow_curve(self, x: Tensor, positions: Tensor, sets: Sets, seed: tuple[int, ...] | None) -> Cycle:
        width, device = positions.shape[-1], positions.device
        turn = random_turn(width, self.generator, device) if seed is None else seeded_turn(width, seed, device)
        curve = curve_cycle(positions, turn, "morton" if self.order == "morton" else "hilbert", sets)
        if self.order != "mixed":
            return curve
        near, far = self.walkers // 2, self.walkers - self.walkers // 2
        cycle = self.random_cycle(x, sets, seed, far if self.cycles == "per-head" else 1)
        return join_heads(curve.repeat(near), cycle.repeat(far // cycle.heads), x.shape[0])

    def fit(self, cycle: Cycle | None, x: Tensor, sets: Sets) -> Cycle | None:
        if cycle is None:
            return None
        n = x.shape[-2]
        heads = (1,) if self.composition == "sequential" or self.walkers < 2 else (1, self.walkers)
        batch = (x.shape[0],) if cycle.order.dim() == 3 else ()
        if cycle.heads not in heads or cycle.order.shape != (*batch, cycle.heads, n):
            raise ValueError(
                f"cycle: expected one of shape ({' or '.join(map(str, heads))}, {n}), with the batch before it or not, "
                f"got {tuple(cycle.order.shape)}"
            )
        if not cycle.is_for(sets.mask, sets.ptr):
            raise ValueError("cycle: expected one drawn with the same mask or ptr as the call")
        return cycle

    def extra_repr(self) -> str:
        return (
            f"{super().extra_repr()}, subset={self.subset}, inner={self.inner}, composition={self.composition}, "
            f"cycles={self.cycles}, rounds={self.rounds}, estimator={self.estimator}, rest={self.rest}, "
            f"order={self.order}, summed={self.summed}, samples={self.samples}, seed={self.seed}"
        )
