"""Features of extreme size: what fused and single-precision arithmetic cannot hold is computed in another way.

Ordinary features take the ordinary path, to the bit. On the CPU we look at the largest feature of a call; elsewhere the
device would have to wait, and a traced graph has no values to look at.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from ..sets import readable

LARGE = 1e4  # features beyond which products of three of them need double precision
LARGE_SCORE = 2.0**20  # beyond which the backward pass of torch's fused kernels is inaccurate, and later not finite
LIMIT = 4 * 2**30  # bytes that written-out weights may take; callers may raise it
# Up to this many keys, a training step of torch's fused kernels on a CPU takes less time in float32 than in bfloat16
# (benchmarks/few_keys.py).
FEW_KEYS = 256


def largest(x: Tensor) -> float:
    """The largest absolute value; 0 for none, and where we cannot look."""
    if not readable(x) or x.numel() == 0 or torch._C._are_functorch_transforms_active():
        return 0.0
    low, high = x.detach().aminmax()
    return max(-float(low), float(high))


def are_extreme(*tensors: Tensor) -> bool:
    """Whether any feature is too large for sums of products in single precision."""
    return any(largest(x) > LARGE for x in tensors)


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, scale: float
) -> Tensor:
    """Softmax attention of (batch, heads, queries, head_dim) by torch's fused kernels.

        softmax(scale * Q K^T + mask) V

    Their backward pass recomputes the weights as exp(score - log-sum), which overflows for scores of 1e9 or more: both
    have seven digits. So we write the weights out if gradients are wanted and scores may be that large.
    """
    wanted = torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value))
    if wanted and largest(query) * largest(key) * abs(scale) * query.shape[-1] > LARGE_SCORE:
        return _written_out(query, key, value, mask, dropout, scale)
    if wanted and _is_faster_in_single(query, key):
        with torch.autocast("cpu", enabled=False):
            mask = mask.float() if mask is not None and mask.is_floating_point() else mask
            out = scaled_dot_product_attention(
                query.float(), key.float(), value.float(), attn_mask=mask, dropout_p=dropout, scale=scale
            )
        return out.to(value.dtype)
    return scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout, scale=scale)


def _is_faster_in_single(query: Tensor, key: Tensor) -> bool:
    """Whether these few keys, in half precision on a CPU, cost less in float32."""
    return query.device.type == "cpu" and query.dtype.itemsize == 2 and key.shape[-2] <= FEW_KEYS


def _written_out(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: float, scale: float
) -> Tensor:
    wide = torch.float64
    needed = query.shape[:-1].numel() * key.shape[-2] * wide.itemsize
    if needed > LIMIT:
        got = f"features with scores of up to {largest(query) * largest(key) * abs(scale) * query.shape[-1]:.1e}"
        many = f"{key.shape[-2]:,} keys, whose weights would take {needed / 1e9:.1f} GB"
        raise ValueError(f"x: expected scores below {LARGE_SCORE:.0f} for {many}, got {got}")
    mask = mask.to(wide) if mask is not None and mask.is_floating_point() else mask
    with sdpa_kernel(SDPBackend.MATH):
        out = scaled_dot_product_attention(
            query.to(wide), key.to(wide), value.to(wide), attn_mask=mask, dropout_p=dropout, scale=scale
        )
    return out.to(value.dtype)
