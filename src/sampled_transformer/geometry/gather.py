"""Rows of every set in a batch by their indices."""

from __future__ import annotations

import torch
from torch import Tensor


def gather_rows(x: Tensor, index: Tensor) -> Tensor:
    """x[i, index[i]] for every set i: x (batch, rows, ...), index (batch, some) -> (batch, some, ...).

    One `index_select` on the flattened batch: `torch.gather` would need an index as wide as the rows.
    """
    batch, rows = x.shape[:2]
    begin = torch.arange(batch, device=index.device).unsqueeze(1) * rows
    return x.flatten(0, 1).index_select(0, (index + begin).flatten()).view(*index.shape, *x.shape[2:])
