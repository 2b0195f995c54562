"""Which floating-point types we use to compare and to return distances."""

from __future__ import annotations

import torch
from torch import Tensor


def wide_dtype(*tensors: Tensor) -> torch.dtype:
    """The type for comparing distances: float64 on the CPU, where it is cheap; elsewhere at least float32."""
    return torch.float64 if tensors[0].device.type == "cpu" else result_dtype(*tensors)


def result_dtype(*tensors: Tensor) -> torch.dtype:
    """The type of results: float64 if any argument is float64, else float32. Half precision is too coarse."""
    return torch.float64 if any(tensor.dtype == torch.float64 for tensor in tensors) else torch.float32
