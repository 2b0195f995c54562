"""The floating-point types for comparing and returning distances."""

import pytest
import torch

from sampled_transformer.geometry.precision import result_dtype, wide_dtype

LOW = [torch.float16, torch.bfloat16, torch.float32]


@pytest.mark.parametrize("dtype", LOW)
def test_results_are_at_least_float32(dtype):
    assert result_dtype(torch.zeros(1, dtype=dtype)) == torch.float32


@pytest.mark.parametrize("dtype", LOW)
def test_one_double_argument_makes_a_double_result(dtype):
    low, double = torch.zeros(1, dtype=dtype), torch.zeros(1, dtype=torch.float64)
    assert result_dtype(low, double) == result_dtype(double, low) == torch.float64


@pytest.mark.parametrize("dtype", LOW)
def test_comparisons_are_double_on_the_cpu_only(dtype):
    assert wide_dtype(torch.zeros(1, dtype=dtype)) == torch.float64
    assert wide_dtype(torch.zeros(1, dtype=dtype, device="meta")) == torch.float32
