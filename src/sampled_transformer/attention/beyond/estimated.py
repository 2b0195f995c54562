"""Estimators of dense attention (https://arxiv.org/abs/1706.03762) from a few random keys; not in the paper."""

from __future__ import annotations

from typing import Unpack

import torch
from torch import Tensor

from ...cycles import Cycle
from ...sets import Sets
from ..attended import AllKeys, FewKeys, Weights, normalised, pair_index, products, take_few
from ..base import check_choice
from ..cyclic import CycleOptions, CyclicAttention
from ..kernels import few_keys, few_keys_and_rest, few_scores, following, positive_features, take


class EstimatedAttention(CyclicAttention):
    """Every point reads itself and the next R points of its cycle in one softmax.

        out_k = (e_kk v_k + sum_j w e_kj v_j) / (e_kk + sum_j w e_kj),    e_kj = exp(scale * q_k.k_j)

    The sum goes over the R points that follow k in the cycle: a random sample of the others without repetition. With
    R = n - 1 the result is dense attention. With R = 1 and w = 1 it is the paper's sampled attention.

    Args:
        rounds: R.
        estimator: "plain" has w = 1, as the paper; "consistent" has w = (n - 1) / R, each of the R points stands for
            that many, so that the result tends to dense attention as R grows.
        rest: the points that are not read are "ignored", or enter through the sums of "linear" attention.
        options: cycles, order, samples, seed, generator and keyed_by of `CyclicAttention`; head_dim, bias, scale and
            layer of `Attention`.
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        rounds: int = 1,
        estimator: str = "plain",
        rest: str = "ignored",
        **options: Unpack[CycleOptions],
    ) -> None:
        super().__init__(dim, heads, **options)
        check_choice("estimator", estimator, ("plain", "consistent"))
        check_choice("rest", rest, ("ignored", "linear"))
        if rounds < 1:
            raise ValueError(f"rounds: expected at least 1, got {rounds}")
        if rest == "linear" and estimator == "consistent":
            raise ValueError("estimator: expected 'plain' with rest='linear', which reads all points, got 'consistent'")
        self.rounds, self.estimator, self.rest = rounds, estimator, rest
        self.takes_packed = rest == "ignored"

    def along(self, query: Tensor, key: Tensor, value: Tensor, sets: Sets, cycle: Cycle) -> Tensor:
        if self.dropping and self.rest == "ignored":
            return self.weigh_along(query, key, sets, cycle).apply(value)
        value = self.drop_points(value)
        index = following(cycle.with_batch(cycle.successor), self.rounds)
        shape = (*query.shape[:2], self.rounds, *query.shape[2:])
        keys, values = (take(x, index.flatten(2)).view(shape) for x in (key, value))
        few = query, key, value, keys, values, self.weights(cycle), self.scale
        return few_keys(*few) if self.rest == "ignored" else few_keys_and_rest(*few, sets.mask)

    def weigh_along(self, query: Tensor, key: Tensor, sets: Sets, cycle: Cycle) -> Weights:
        successor = cycle.with_batch(cycle.successor)
        own, weight = pair_index(successor)[..., :1], self.weights(cycle)
        following_index = following(successor, self.rounds)
        few = torch.where((weight > 0)[:, None], following_index, -1)
        index = torch.cat([own.expand(len(few), -1, -1, -1), few], 3)
        score = few_scores(query, key, take_few(key, following_index), weight, self.scale)
        if self.rest == "ignored":
            return FewKeys(index, self.drop(score.softmax(2)))
        highest = score.amax(2, keepdim=True).clamp(min=0).detach()  # nothing overflows
        read = FewKeys(index, (score - highest).exp()).matrix(key.shape[1])
        linear = products(positive_features(query), positive_features(key)) * (-highest).exp().permute(0, 3, 1, 2)
        was_read = FewKeys(index, torch.ones_like(score)).matrix(key.shape[1]) > 0
        return AllKeys(self.drop_columns(normalised(torch.where(was_read, read, linear), sets.mask)))

    def weights(self, cycle: Cycle) -> Tensor:
        """w per following point, (batch or 1, n or 1, rounds); zero beyond the set."""
        others = cycle.sizes()[..., None] - 1
        turn = torch.arange(1, self.rounds + 1, device=others.device)
        counts = (turn <= others).to(torch.float32)
        if self.estimator == "consistent":
            counts = counts * others / others.clamp(min=1, max=self.rounds)
        return counts

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, rounds={self.rounds}, estimator={self.estimator}, rest={self.rest}"
