"""Sparse attention: the cycle of Eq. 4 through the points as they are given, never shuffled."""

from __future__ import annotations

from torch import Tensor

from ..cycles import Cycle, Cycles
from ..sets import Sets
from .attended import FewKeys, Points, few_weights, pair_index
from .base import Attention
from .kernels import pair_attention


class SparseAttention(Attention):
    """Every point attends to itself and to the next one in the given order, the last one to the first.

        Head_k = W_V X_A softmax[(W_K X_A)^T W_Q x_k],    A = {k, k + 1 mod n}

    This is the rival of equal cost in section 5.2 of the paper, https://openreview.net/forum?id=F7f4BYnDAIc. Its result
    depends on the order of the points, which is its flaw as a layer for sets and the reason to compare with it.
    """

    takes_packed = True

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        given = Cycle.identity(query.shape[1], query.device, mask=sets.mask, ptr=sets.ptr)
        if self.dropping:
            return self.weigh_along(query, key, given).apply(value)
        return pair_attention(query, key, value, given.with_batch(given.successor), self.scale)

    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> FewKeys:
        return self.weigh_along(query, key, Cycle.identity(query.shape[1], query.device, mask=asking.mask))

    def weigh_along(self, query: Tensor, key: Tensor, cycle: Cycle) -> FewKeys:
        index = pair_index(cycle.with_batch(cycle.successor))
        return FewKeys(index, self.drop(few_weights(query, key, index, self.scale)))

    def context_refusal(self, cycle: Cycles | None) -> str:
        return "its pairs follow the order of one set"
