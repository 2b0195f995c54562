"""Dense attention (Eq. 1): every point attends to every point of its set."""

from __future__ import annotations

from torch import Tensor

from ..cycles import Cycles
from ..sets import Sets
from .attended import AllKeys, Points, all_weights
from .base import Attention
from .extreme import fused_attention


class DenseAttention(Attention):
    """Every point attends to all n points (Eq. 1a), after "Attention Is All You Need", https://arxiv.org/abs/1706.03762.

        Head(X) = W_V X softmax[scale * (W_K X)^T W_Q X],    Attn(X) = W_O [Head^1; ...; Head^h]

    Torch's fused kernels compute it: time grows with n^2; memory does not where such a kernel exists.
    """

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        return read_all(query, key, value, sets.mask, self.scale, self.dropping)

    def across(self, query: Tensor, key: Tensor, value: Tensor, asking: Points, answering: Points) -> Tensor:
        return read_all(query, key, value, answering.mask, self.scale, self.dropping)

    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> AllKeys:
        return AllKeys(self.drop(all_weights(query, key, answering.mask, self.scale)))

    def context_refusal(self, cycle: Cycles | None) -> None:
        return None


def read_all(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float, dropout: float = 0.0
) -> Tensor:
    """Every query reads every real key of its set, all (batch, points, heads, head_dim); mask (batch, keys)."""
    if mask is not None:
        # A softmax over no keys is NaN, also in the backward pass. An empty set may read its padding, which is zero.
        mask = (mask | ~mask.any(1, keepdim=True))[:, None, None]
    query, key, value = (part.transpose(1, 2) for part in (query, key, value))
    return fused_attention(query, key, value, mask, dropout, scale).transpose(1, 2)
