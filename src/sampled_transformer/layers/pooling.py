"""Max-pooling over plain, padded and packed sets."""

from __future__ import annotations

import torch
from torch import Tensor

from ..sets import Integers, segments, settle_form
from .group_max import group_max


def pool_max(
    x: Tensor,
    mask: Tensor | None = None,
    ptr: Integers | None = None,
    *,
    batch: Integers | None = None,
    batch_size: int | None = None,
) -> Tensor:
    """The largest value of every feature in each set, max_i x_i, (sets, dim); zero for an empty set.

    Args:
        x: features, (batch, n, dim), or packed (total, dim) with `ptr` or `batch`, or nested.
        mask: (batch, n), True where a point is real.
        ptr: (sets + 1,), where each packed set begins and the last ends.
        batch, batch_size: (total,), the number of each point's set, instead of ptr; and the number of sets.
    """
    (x,), ptr = settle_form({"x": x}, mask, ptr, batch, batch_size)
    if ptr is not None:
        sets = x.new_zeros(ptr.shape[0] - 1, x.shape[-1])
        index = segments(ptr, x.shape[0])[:, None].expand_as(x)
        return sets.scatter_reduce(0, index, x, "amax", include_self=False)
    if x.shape[1] == 0:
        return x.new_zeros(x.shape[0], x.shape[-1])
    if mask is None:
        return group_max(x, 1)
    return group_max(x.masked_fill(~mask[..., None], -torch.inf), 1).masked_fill(~mask.any(1, keepdim=True), 0)
