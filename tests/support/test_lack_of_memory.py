from __future__ import annotations

import numpy as np
import pytest
import torch

from sampled_transformer.support.lack_of_memory import described, is_lack_of_memory, memory_errors


@pytest.mark.parametrize(
    "ask",
    [
        lambda: torch.empty(2**60, dtype=torch.uint8),
        lambda: np.empty(2**60, np.uint8),
        lambda: bytearray(2**60),
    ],
    ids=["torch", "numpy", "python"],
)
def test_whoever_asks_for_too_much_gets_one_line(ask: object) -> None:
    with pytest.raises(MemoryError, match=r"^not enough memory") as error, memory_errors():
        ask()  # type: ignore[operator]
    assert "\n" not in str(error.value)


def test_how_much_was_asked_for() -> None:
    with pytest.raises(MemoryError) as error, memory_errors():
        torch.empty(10**15, dtype=torch.uint8)
    assert str(error.value) == "not enough memory: 1e+06 GB were asked for at once"
    with pytest.raises(MemoryError) as again, memory_errors():
        raise error.value
    assert str(again.value) == str(error.value)
    cuda = torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 8 GiB"
    )
    assert is_lack_of_memory(cuda)
    assert described(cuda) == "not enough memory: 20.00 GiB were asked for at once"


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(RuntimeError, match="shapes differ"), memory_errors():
        raise RuntimeError("shapes differ")
    with pytest.raises(ValueError, match="no"), memory_errors():
        raise ValueError("no")
    assert not is_lack_of_memory(ValueError("not enough memory"))
