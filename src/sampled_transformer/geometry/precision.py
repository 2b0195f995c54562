"""The floating-point types in which distances are compared and returned."""

from __future__ import annotations

import torch
from torch import Tensor


def wide_dtype(*tensors: Tensor) -> torch.dtype:
    """The type to compare distances in: float64 on the CPU, where it is cheap; elsewhere at least float32."""
    return torch.float64 if tensors[0].device.type == "cpu" else result_dtype(*tensors)


def result_dtype(*tensors: Tensor) -> torch.dtype:
    """float64 if any argument has it, else float32: half precision has too few digits for distances."""
    return torch.float64 if any(tensor.dtype == torch.float64 for tensor in tensors) else torch.float32
