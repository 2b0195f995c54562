"""Summed attention: heads that read sums over the whole set, at O(n); not part of the paper."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from ...cycles import Cycle, Cycles
from ...sets import Sets
from ..attended import AllKeys, FewKeys, Points, Weights, products
from ..base import Projections, check_choice
from ..cyclic import CyclicAttention, window_attention, window_weights
from ..kernels import key_shares, summary_attention


class SummedAttention(CyclicAttention):
    """All heads read sums over the whole set, except `local` ones, which read a window of near points.

        S_f = sum_j softmax_j(k_jf) v_j,    out_i = sum_f softmax_f(q_if) S_f

    A summing head has one sum S_f of the values per feature f of its keys, and every point mixes these sums by a
    softmax of its query: "Efficient Attention", https://arxiv.org/abs/1812.01243. A local head attends densely inside
    windows along a Hilbert curve through the positions, which is turned at random at every training pass. With
    `local=0` nothing is random, positions are not needed, and the sums may be those of a `context`. `dropout` drops
    points from the sums S_f, for all readers at once, and weights of the windows.

    Args:
        local: how many heads, the last ones, look at windows.
        window: points per window.
        cycles: whether every layer turns the curve for itself ("shared" by its heads) or all layers of a "network"
            together.
        samples, seed, generator: of the turns of the curve, see `CyclicAttention`. A curve through the positions does
            not depend on the order of the points.
        projections: head_dim, bias, scale and layer of `Attention`.
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        local: int = 0,
        window: int = 16,
        cycles: str = "shared",
        samples: int = 1,
        seed: int = 0,
        generator: torch.Generator | None = None,
        **projections: Unpack[Projections],
    ) -> None:
        if not 0 <= local <= heads:
            raise ValueError(f"local: expected 0 to {heads} heads, got {local}")
        if window < 2:
            raise ValueError(f"window: expected at least 2 points, got {window}")
        check_choice("cycles", cycles, ("shared", "network"))
        super().__init__(
            dim,
            heads,
            cycles=cycles,
            order="hilbert",
            samples=samples,
            seed=seed,
            generator=generator,
            walkers=local,
            **projections,
        )
        self.local, self.window = local, window

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        (query, near_query), (key, near_key), (value, near_value) = (
            x.split([self.heads - self.local, self.local], 2) for x in (query, key, value)
        )
        if self.local == self.heads:
            return super().attend(near_query, near_key, near_value, positions, sets, cycle)
        summary = summary_attention(query, key, self.drop_points(value), sets.mask)
        if not self.local:
            return summary
        near = super().attend(near_query, near_key, near_value, positions, sets, cycle)
        return torch.cat([summary, near], 2)

    def along(self, query: Tensor, key: Tensor, value: Tensor, sets: Sets, cycle: Cycle) -> Tensor:
        return window_attention(query, key, value, cycle, self.window, self.scale, self.dropping)

    def across(self, query: Tensor, key: Tensor, value: Tensor, asking: Points, answering: Points) -> Tensor:
        return summary_attention(query, key, self.drop_points(value), answering.mask)

    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> Weights:
        (query, near_query), (key, near_key) = (x.split([self.heads - self.local, self.local], 2) for x in (query, key))
        if self.local == self.heads:
            return super().weigh(near_query, near_key, asking, answering, cycle)
        exact = torch.promote_types(query.dtype, torch.float32)
        summary = products(query.to(exact).softmax(-1), key_shares(key, answering.mask))
        summary = self.drop_columns(summary)
        if not self.local:
            return AllKeys(summary)
        near = super().weigh(near_query, near_key, asking, answering, cycle)
        return AllKeys(torch.cat([summary, near.matrix(key.shape[1])], 1))

    def weigh_along(self, query: Tensor, key: Tensor, sets: Sets, cycle: Cycle) -> FewKeys:
        window = window_weights(query, key, cycle, self.window, self.scale)
        return FewKeys(window.index, self.drop(window.weight))

    def context_refusal(self, cycle: Cycles | None) -> str | None:
        return "windows of local heads hold points of one set; only local=0 reads another" if self.local else None

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, local={self.local}, window={self.window}"
