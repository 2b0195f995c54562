"""Sampled attention (Eq. 3 to 5), the paper's layer: a random Hamiltonian cycle instead of all pairs."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from ..cycles import Cycle, Cycles
from ..sets import Sets
from .attended import FewKeys, Points, Weights, few_weights, mean_of, pair_index
from .base import Projections, check_choice
from .cyclic import CyclicAttention, window_attention, window_weights
from .kernels import pair_attention
from .pairs import row_pairs_from_seed, sample_pairs
from .sequential import attend_in_turn, weigh_in_turn


class SampledAttention(CyclicAttention):
    r"""Every point attends to itself and to its successor s in a random cycle (Eq. 5).

        SHead_k = W_V X_A softmax[(W_K X_A)^T W_Q x_k],    A = {k, s}                                   (Eq. 5a)
                = v_s + sigmoid(scale * q_k.(k_k - k_s)) (v_k - v_s)
        SAttn(X) = X + W_O [SHead^1; ...; SHead^h]                                                  (Eq. 5b, 5c)

    The layer returns W_O [...] alone: the block around it adds X. Two keys make the softmax a sigmoid, and the cost is
    O(n). The cycle is uniform over all Hamiltonian cycles (Eq. 3 and 4, `Cycle.sample`). Paper: "Sampled Transformer
    for Point Sets", https://openreview.net/forum?id=F7f4BYnDAIc.

    With a `context` there is no cycle to walk: every query reads two different random points of the context, the
    paper's sampled form of an m x n attention matrix (appendix B.3). Training draws them for every set, head and query.
    In evaluation they follow from the seed, the layer, the head and the positions of the query and of the context, or,
    where there are none, the query's place and the size of the context; `samples` averages. `cycles` changes nothing
    there.

    A call goes through `Attention.forward` (checks), `mix` (W_Q, W_K, W_V, W_O), `CyclicAttention.attend` (draws the
    cycles) and `along` below (Eq. 5a).

    Args:
        subset: n_s of Eq. 3, the points per subset. With the Hamiltonian pattern and parallel subsets it changes
            nothing: together the subsets make one cycle (default: 2, or 32 with `inner="dense"`).
        inner: the pattern inside a subset, "hamiltonian" (Eq. 4) or "dense" (Fig. 1b).
        composition: "parallel" updates every point once, as a member of its own subset; "sequential" is Eq. 5c to the
            letter, one subset after the other, so that a point shared by two subsets is updated twice. It takes one
            step of Python per subset.
        cycles, order, samples, seed, generator, keyed_by: which cycles are drawn, see `CyclicAttention`.
        projections: head_dim, bias, scale and layer of `Attention`.
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
        order: str = "random",
        samples: int = 1,
        seed: int = 0,
        generator: torch.Generator | None = None,
        keyed_by: str | None = None,
        **projections: Unpack[Projections],
    ) -> None:
        super().__init__(
            dim,
            heads,
            cycles=cycles,
            order=order,
            samples=samples,
            seed=seed,
            generator=generator,
            keyed_by=keyed_by,
            **projections,
        )
        check_choice("inner", inner, ("hamiltonian", "dense"))
        check_choice("composition", composition, ("parallel", "sequential"))
        if composition == "sequential" and (cycles == "per-head" or order == "mixed"):
            raise ValueError(
                "cycles, order: expected one cycle for all heads with composition='sequential', got several"
            )
        if subset is not None and subset < 2:
            raise ValueError(f"subset: expected at least 2 points, got {subset}")
        self.subset = subset or (32 if inner == "dense" else 2)
        self.inner, self.composition = inner, composition
        self.takes_packed = composition == "parallel"

    def mix(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None) -> Tensor:
        if self.composition == "parallel":
            return super().mix(x, positions, sets, cycle)
        drawn = self.draw(x, sets, cycle, positions)
        return sum((attend_in_turn(self, x, sets, one) for one in drawn), x.new_zeros(())) / len(drawn)

    def read(
        self, asking: Points, answering: Points, cycle: Cycles | None, need_weights: bool
    ) -> tuple[Tensor, Weights | None]:
        if self.composition == "parallel":
            return super().read(asking, answering, cycle, need_weights)
        sets = Sets(asking.mask)
        drawn = self.draw(asking.x, sets, cycle, asking.positions)
        results = [weigh_in_turn(self, asking.x, sets, one) for one in drawn]
        return torch.stack([out for out, _ in results]).mean(0), mean_of([weights for _, weights in results])

    def along(self, query: Tensor, key: Tensor, value: Tensor, sets: Sets, cycle: Cycle) -> Tensor:
        """SHead of Eq. 5a for all heads, with the pattern of Eq. 4 or dense inside the subsets of Eq. 3."""
        if self.inner == "dense":
            return window_attention(query, key, value, cycle, self.subset, self.scale, self.dropping)
        if self.dropping:
            return self.weigh_along(query, key, sets, cycle).apply(value)
        return pair_attention(query, key, value, cycle.with_batch(cycle.successor), self.scale)

    def weigh_along(self, query: Tensor, key: Tensor, sets: Sets, cycle: Cycle) -> FewKeys:
        if self.inner == "dense":
            window = window_weights(query, key, cycle, self.subset, self.scale)
            return FewKeys(window.index, self.drop(window.weight))
        return self.weigh_few(query, key, pair_index(cycle.with_batch(cycle.successor)))

    def weigh_few(self, query: Tensor, key: Tensor, index: Tensor) -> FewKeys:
        return FewKeys(index, self.drop(few_weights(query, key, index, self.scale)))

    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> Weights:
        if self.composition == "sequential":
            raise ValueError(
                "need_weights: expected composition='parallel', whose points attend once, got 'sequential'"
            )
        if answering is asking:
            return super().weigh(query, key, asking, answering, cycle)
        return mean_of([self.weigh_few(query, key, index) for index in self.draw_rows(asking, answering)])

    def across(self, query: Tensor, key: Tensor, value: Tensor, asking: Points, answering: Points) -> Tensor:
        return self.weigh(query, key, asking, answering, None).apply(value)

    def draw_rows(self, asking: Points, answering: Points) -> list[Tensor]:
        """The two points of the context that each query reads, (batch or 1, heads, queries, 2); see `attention.pairs`.

        One draw in training, `samples` fixed ones in evaluation. The only point of a context is read once.
        """
        (sets, queries), n, device = asking.x.shape[:2], answering.x.shape[1], asking.x.device
        if self.training:
            chance = self.generator
            drawn = [
                sample_pairs(
                    queries, n, sets=sets, heads=self.heads, mask=answering.mask, generator=chance, device=device
                )
            ]
        else:
            points = (asking.positions, answering.positions) if self.keyed_by == "points" else (None, None)
            drawn = [
                row_pairs_from_seed(
                    (self.seed, self.layer, sample),
                    queries,
                    n,
                    self.heads,
                    asking.mask,
                    answering.mask,
                    device,
                    *points,
                )
                for sample in range(self.samples)
            ]
        pairs = [one.unflatten(2, (2, queries)).transpose(2, 3) for one in drawn]
        return [torch.stack([one[..., 0], one[..., 1].masked_fill(one[..., 0] == one[..., 1], -1)], 3) for one in pairs]

    def context_refusal(self, cycle: Cycles | None) -> str | None:
        if self.inner == "dense" or self.composition == "sequential" or self.order != "random":
            return "only inner='hamiltonian', composition='parallel' and order='random' read another set"
        return None if cycle is None else "a cycle runs through one set, so that cycle= cannot be given"

    def heads_of_a_cycle(self) -> tuple[int, ...]:
        return (1,) if self.composition == "sequential" else super().heads_of_a_cycle()

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, subset={self.subset}, inner={self.inner}, composition={self.composition}"
