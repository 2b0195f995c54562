from __future__ import annotations

import torch

from sampled_transformer.support.machine import machine


def test_says_what_the_run_may_use() -> None:
    found = machine()
    assert found["threads"] == torch.get_num_threads()
    assert found["cores"] >= 1
    assert found["processor"]
