"""What mechanisms that walk cycles share: which cycles a call walks, and the mean over them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

import torch
from torch import Tensor

from ..cycles import Cycle, Cycles, each
from ..geometry.tracing import exporting, never_compiled
from ..randomness import settle_keys
from ..sets import Sets
from .attended import FewKeys, Points, Weights, check_few, few_weights, group_index, mean_of
from .base import Attention, Projections, check_choice
from .curve_cycles import curve_cycle, join_heads, random_turn, seeded_turn
from .kernels import group_attention, restore


class CycleOptions(Projections, total=False):
    """The options of mechanisms that walk cycles; `CyclicAttention` describes them."""

    cycles: str
    order: str
    samples: int
    seed: int
    generator: torch.Generator | None
    keyed_by: str | None


class CyclicAttention(Attention):
    """Attention along Hamiltonian cycles; a mechanism fills in `along`, which attends along one of them.

    In training each call draws a fresh cycle: one for a plain batch, one per padded or packed set. In evaluation the
    cycle is a function of the points' positions, the seed and the layer: the same set gives the same output in any
    order and in any process. A call without positions has nothing to tell points apart by: its cycle is a function of
    the size of the set, the seed and the layer, and another order of the points is another cycle.

    Args:
        cycles: "shared" by all heads of a layer, one "per-head", or one for the whole "network": all its layers that
            attend over the same points walk the same cycle. The network draws it, see `network_cycle`. A layer by
            itself draws its own, as with "shared".
        order: the cycle is "random" (Eq. 3); follows a "morton" or "hilbert" curve through the positions, which is
            turned at random; or is "mixed": the first half of the heads follow a Hilbert curve, the others a random
            cycle.
        samples: number of cycles to average in evaluation.
        seed: chooses the cycles of evaluation.
        generator: source of the cycles of training (default: torch's global one). Activation checkpointing restores
            only the global one and would draw another cycle when it computes again: pass `cycle` to the call there.
        keyed_by: in evaluation, cycles follow the "points" themselves (`Cycle.from_points`) or their "places" in the
            list (`Cycle.from_seed`), where another order is another cycle (default: "points"; see `key_by`).
        walkers: how many heads, the last ones, walk the cycle (default: all).
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        cycles: str = "shared",
        order: str = "random",
        samples: int = 1,
        seed: int = 0,
        generator: torch.Generator | None = None,
        keyed_by: str | None = None,
        walkers: int | None = None,
        **projections: Unpack[Projections],
    ) -> None:
        super().__init__(dim, heads, **projections)
        check_choice("cycles", cycles, ("shared", "per-head", "network"))
        check_choice("order", order, ("random", "morton", "hilbert", "mixed"))
        self.walkers = heads if walkers is None else walkers
        if order == "mixed" and self.walkers < 2:
            raise ValueError(f"order: expected at least 2 heads for 'mixed', got {self.walkers}")
        if samples < 1:
            raise ValueError(f"samples: expected at least 1 cycle, got {samples}")
        self.cycles, self.order, self.samples, self.seed, self.generator = cycles, order, samples, seed, generator
        self.keyed_by = settle_keys(keyed_by)
        self.needs_positions = order != "random" and self.walkers > 0

    @property
    def is_random(self) -> bool:
        return self.walkers > 0

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        """The mean over the cycles of this call."""
        drawn = self.draw(query, sets, cycle, positions)
        first, *others = [self.along(query, key, value, sets, one) for one in drawn]
        return first if not others else torch.stack([first, *others]).mean(0)

    def along(self, query: Tensor, key: Tensor, value: Tensor, sets: Sets, cycle: Cycle) -> Tensor:
        """The mechanism itself along one cycle, on (batch, n, heads, head_dim)."""
        raise NotImplementedError

    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> Weights:
        sets = Sets(asking.mask)
        drawn = self.draw(query, sets, cycle, asking.positions)
        return mean_of([self.weigh_along(query, key, sets, one) for one in drawn])

    def weigh_along(self, query: Tensor, key: Tensor, sets: Sets, cycle: Cycle) -> Weights:
        """The weights of `along`, written out, after dropout."""
        raise NotImplementedError

    def context_refusal(self, cycle: Cycles | None) -> str | None:
        return "its cycles run through one set"

    def draw(self, x: Tensor, sets: Sets, cycle: Cycles | None, positions: Tensor | None = None) -> list[Cycle]:
        """The cycles of this call: the given ones, a fresh one in training, `samples` fixed ones in evaluation."""
        if cycle is not None:
            return each(cycle)
        if self.training:
            return [self.draw_one(x, positions, sets, None)]
        return [self.draw_one(x, positions, sets, (self.seed, self.layer, sample)) for sample in range(self.samples)]

    def draw_one(self, x: Tensor, positions: Tensor | None, sets: Sets, seed: tuple[int, ...] | None) -> Cycle:
        """The cycle that belongs to the seed, or a fresh one."""
        if positions is not None and self.order != "random":
            return self.follow_curve(x, positions, sets, seed)
        return self.random_cycle(x, positions, sets, seed, self.walkers if self.cycles == "per-head" else 1)

    def random_cycle(
        self, x: Tensor, positions: Tensor | None, sets: Sets, seed: tuple[int, ...] | None, heads: int
    ) -> Cycle:
        n, device = x.shape[1], x.device
        if seed is None:
            return Cycle.sample(n, heads, self.generator, device, mask=sets.mask, ptr=sets.ptr)
        if positions is not None and self.keyed_by == "points":
            points = positions if sets.ptr is None else positions[0]
            return Cycle.from_points(seed, points, heads, mask=sets.mask, ptr=sets.ptr)
        return Cycle.from_seed(seed, n, heads, device, mask=sets.mask, ptr=sets.ptr)

    @never_compiled  # a search, not arithmetic: a graph of it takes minutes to build
    def follow_curve(self, x: Tensor, positions: Tensor, sets: Sets, seed: tuple[int, ...] | None) -> Cycle:
        width, device = positions.shape[-1], positions.device
        turn = random_turn(width, self.generator, device) if seed is None else seeded_turn(width, seed, device)
        ordered = seed is not None and self.keyed_by == "points"
        curve = curve_cycle(positions, turn, "morton" if self.order == "morton" else "hilbert", sets, ordered)
        if self.order != "mixed":
            return curve
        near, far = self.walkers // 2, self.walkers - self.walkers // 2
        cycle = self.random_cycle(x, positions, sets, seed, far if self.cycles == "per-head" else 1)
        return join_heads(curve.repeat(near), cycle.repeat(far // cycle.heads), x.shape[0])

    def heads_of_a_cycle(self) -> tuple[int, ...]:
        """How many heads a cycle given by the caller may have."""
        return (1,) if self.walkers < 2 else (1, self.walkers)

    def fit(self, cycle: Cycles | None, x: Tensor, sets: Sets) -> Cycles | None:
        if cycle is None:
            return None
        if not each(cycle):
            raise ValueError("cycle: expected at least one, got none")
        n, heads = x.shape[-2], self.heads_of_a_cycle()
        for one in each(cycle):
            batch = (x.shape[0],) if one.order.dim() == 3 else ()
            if one.heads not in heads or one.order.shape != (*batch, one.heads, n):
                expected = f"({' or '.join(map(str, heads))}, {n}), with or without the batch in front"
                raise ValueError(f"cycle: expected the shape {expected}, got {tuple(one.order.shape)}")
            if not one.is_for(sets.mask, sets.ptr):
                raise ValueError("cycle: expected one drawn with the mask or ptr of this call, got one of other sets")
        return cycle

    def extra_repr(self) -> str:
        walk = f"cycles={self.cycles}, order={self.order}, samples={self.samples}, seed={self.seed}"
        return f"{super().extra_repr()}, {walk}"


def network_cycle(
    layers: Iterable[object],
    x: Tensor,
    positions: Tensor | None = None,
    mask: Tensor | None = None,
    ptr: Tensor | None = None,
    cycle: Cycles | None = None,
) -> Cycles | None:
    """The cycles that layers with `cycles="network"` walk together in one pass: pass them to every block as `cycle`.

    The first of the layers draws: a fresh cycle in training, its `samples` fixed ones in evaluation, which the order of
    the points does not change if their positions are given. Without such a layer the result is the given `cycle`,
    mostly None, and every layer draws for itself.

    Args:
        layers: the layers that attend over these points.
        x, positions, mask, ptr: as in `Attention.forward`, of the first layer.
        cycle: the caller's own, which wins.
    """
    shared = (one for one in layers if isinstance(one, CyclicAttention) and one.cycles == "network" and one.is_random)
    first = next(shared, None)
    if cycle is not None or first is None or x.numel() == 0:
        return cycle
    positions, ptr = first.settle(x, positions, mask, ptr)
    if ptr is not None:
        x, positions = x[None], None if positions is None else positions[None]
    return first.draw(x, Sets(mask, ptr), None, positions)


def window_attention(
    query: Tensor, key: Tensor, value: Tensor, cycle: Cycle, subset: int, scale: float, dropout: float = 0.0
) -> Tensor:
    """Fig. 1b: every point attends to all points of its own subset of the cycle, the link to the next included."""
    # A larger window holds nothing but padding; an exported graph serves sets of any size.
    size = subset if exporting() else min(subset, cycle.longest + 1)
    own = cycle.with_batch(cycle.members(size))
    rows = group_attention(query, key, value, own, cycle.with_batch(cycle.subsets(size)), scale, dropout)
    return restore(rows, own.flatten(2), query.shape[1])


def window_weights(query: Tensor, key: Tensor, cycle: Cycle, subset: int, scale: float) -> FewKeys:
    """The weights of `window_attention`."""
    size = min(subset, cycle.longest + 1)
    check_few(query, size)
    members, windows = cycle.with_batch(cycle.members(size)), cycle.with_batch(cycle.subsets(size))
    index = group_index(members, windows, query.shape[1])
    return FewKeys(index, few_weights(query, key, index, scale))
