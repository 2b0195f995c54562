"""Sampled attention (Eq. 3 to 5): a random Hamiltonian cycle instead of all pairs."""

from __future__ import annotations

import torch
from torch import Tensor

from ..cycles import Cycle
from .base import Attention, Sets
from .kernels import group_attention, pair_attention, restore
from .sequential import attend_in_turn


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
        ):
            if choice not in choices:
                raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {choice!r}")
        if composition == "sequential" and cycles == "per-head":
            raise ValueError("cycles: expected 'shared' with composition='sequential', whose heads update together")
        self.subset = subset if subset is not None else (32 if inner == "dense" else 2)
        if self.subset < 2:
            raise ValueError(f"subset: expected at least 2 points, got {subset}")
        if samples < 1:
            raise ValueError(f"samples: expected at least 1 cycle, got {samples}")
        self.inner, self.composition, self.cycles = inner, composition, cycles
        self.takes_packed = composition == "parallel"
        self.samples, self.seed, self.generator = samples, seed, generator

    def mix(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None) -> Tensor:
        if self.composition == "parallel":
            return super().mix(x, positions, sets, cycle)
        drawn = self.draw(x, sets, cycle)
        return sum((attend_in_turn(self, x, sets, one) for one in drawn), x.new_zeros(())) / len(drawn)

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None
    ) -> Tensor:
        walk = self.walk if self.inner == "hamiltonian" else self.attend_in_windows
        first, *others = [walk(query, key, value, one) for one in self.draw(query, sets, cycle)]
        return first if not others else torch.stack([first, *others]).mean(0)

    def walk(self, query: Tensor, key: Tensor, value: Tensor, cycle: Cycle) -> Tensor:
        """Eq. 5a with the pattern of Eq. 4."""
        return pair_attention(query, key, value, cycle.with_batch(cycle.successor), self.scale)

    def attend_in_windows(self, query: Tensor, key: Tensor, value: Tensor, cycle: Cycle) -> Tensor:
        """Fig. 1b: every point attends to all points of its own subset, the link to the next included."""
        size = min(self.subset, cycle.longest + 1)  # a larger one holds nothing but padding
        own = cycle.with_batch(cycle.members(size))
        rows = group_attention(query, key, value, own, cycle.with_batch(cycle.subsets(size)), self.scale)
        return restore(rows, own.flatten(2), query.shape[1])

    def draw(self, x: Tensor, sets: Sets, cycle: Cycle | None) -> list[Cycle]:
        """The cycles of this call: the given one, a fresh one in training, `samples` fixed ones in evaluation."""
        if cycle is not None:
            return [cycle]
        heads = self.heads if self.cycles == "per-head" else 1
        n, device = x.shape[1], x.device
        if self.training:
            return [Cycle.sample(n, heads, self.generator, device, mask=sets.mask, ptr=sets.ptr)]
        return [
            Cycle.from_seed((self.seed, self.layer, sample), n, heads, device, mask=sets.mask, ptr=sets.ptr)
            for sample in range(self.samples)
        ]

    def fit(self, cycle: Cycle | None, x: Tensor, sets: Sets) -> Cycle | None:
        if cycle is None:
            return None
        n = x.shape[-2]
        heads = (1,) if self.composition == "sequential" else (1, self.heads)
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
            f"cycles={self.cycles}, samples={self.samples}, seed={self.seed}"
        )
