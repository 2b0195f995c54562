"""Max-pooling over sets in any form."""

from __future__ import annotations

import torch
from torch import Tensor

from ..sets import segments


def pool_max(x: Tensor, mask: Tensor | None = None, ptr: Tensor | None = None) -> Tensor:
    """The largest value of every feature in each set, (sets, dim); zero for an empty set."""
    if ptr is not None:
        sets = x.new_zeros(ptr.shape[0] - 1, x.shape[-1])
        index = segments(ptr, x.shape[0])[:, None].expand_as(x)
        return sets.scatter_reduce(0, index, x, "amax", include_self=False)
    if mask is not None:
        pooled = x.masked_fill(~mask[..., None], -torch.inf).amax(1) if x.shape[1] else x.new_zeros(len(x), x.shape[-1])
        return pooled.masked_fill(~mask.any(1, keepdim=True), 0)
    return x.amax(1) if x.shape[1] else x.new_zeros(x.shape[0], x.shape[-1])
