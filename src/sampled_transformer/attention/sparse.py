"""Sparse attention: the cycle of Eq. 4 through the points as they are given, never shuffled."""

from __future__ import annotations

from torch import Tensor

from ..cycles import Cycle
from ..sets import Sets
from .base import Attention
from .kernels import pair_attention


class SparseAttention(Attention):
    """Every point attends to itself and to the next one, the last to the first: the paper's rival of equal cost.

    The result depends on the order of the points; that is its fault as a layer for sets, and the point of comparing.
    """

    takes_packed = True

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None
    ) -> Tensor:
        given = Cycle.identity(query.shape[1], query.device, mask=sets.mask, ptr=sets.ptr)
        return pair_attention(query, key, value, given.with_batch(given.successor), self.scale)
