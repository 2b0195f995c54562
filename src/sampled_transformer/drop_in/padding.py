"""Padding masks of torch, in which True means padding, as masks of ours, in which True means a real point.

| mask                                          | True, 1 or 0.0 means        | here                        |
|-----------------------------------------------|-----------------------------|-----------------------------|
| `mask` of this package                        | a real point                | `mask`                      |
| `key_padding_mask` of torch, bool             | padding                     | `~key_padding_mask`         |
| `key_padding_mask` of torch, float            | 0.0 real, -inf padding      | `key_padding_mask == 0`     |
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..sets import describe


def real_points(padding: Tensor, shape: tuple[int, ...], name: str = "key_padding_mask") -> Tensor:
    """The mask of ours, True where a point is real, for a padding mask of torch, bool or float, of this shape.

    nn.TransformerEncoder turns bool masks into float ones before its layers see them. Values between 0 and -inf would
    be added to the scores, which most mechanisms do not have: they are refused (on the CPU, where looking is free).
    """
    fits = isinstance(padding, Tensor) and tuple(padding.shape) == shape
    if not fits or not (padding.dtype == torch.bool or padding.is_floating_point()):
        raise ValueError(f"{name}: expected bool of shape {shape}, True for padding, got {describe(padding)}")
    if padding.dtype == torch.bool:
        return ~padding
    real = padding != -math.inf
    if padding.device.type == "cpu" and not torch.compiler.is_compiling() and bool((real & (padding != 0)).any()):
        other = float(padding[real & (padding != 0)][0])
        raise ValueError(f"{name}: expected 0 for real points and -inf for padding in a mask of floats, got {other:g}")
    return real
