"""Dense attention (Eq. 1): every point attends to every point of its set."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ..cycles import Cycle
from ..sets import Sets
from .base import Attention


class DenseAttention(Attention):
    """Eq. 1a through torch's fused kernels: time grows with n^2, memory does not where a fused kernel exists."""

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None
    ) -> Tensor:
        return read_all(query, key, value, sets.mask, self.scale)


def read_all(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """Every query reads every real key of its set, all (batch, points, heads, head_dim); mask (batch, keys)."""
    if mask is not None:
        # A softmax over no key is NaN, also in the backward pass; an empty set may read its padding, which is zero.
        mask = (mask | ~mask.any(1, keepdim=True))[:, None, None]
    out = scaled_dot_product_attention(
        query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), attn_mask=mask, scale=scale
    )
    return out.transpose(1, 2)
