from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
import torch

from sampled_transformer import list_attention
from sampled_transformer.estimators.network import SetEnsemble, SetNetwork, pool_moments


def make(attention: str = "linear", **options: Any) -> SetNetwork:
    torch.manual_seed(0)
    return SetNetwork(
        4, 3, dim=16, depth=2, heads=2, attention=attention, dropout=0.1, attention_options=options
    ).eval()


@pytest.mark.parametrize("attention", list_attention())
def test_sets_do_not_influence_each_other(attention: str) -> None:
    network = make(attention)
    rows, sizes = torch.randn(30, 4), torch.randn(4, 1)
    ptr = torch.tensor([0, 17, 17, 18, 30])  # one empty set and one of a single row
    together = network(rows, ptr, sizes, rows[:, :3])
    assert together.shape == (4, 3)
    assert together.isfinite().all()
    for number, (begin, end) in enumerate(pairwise(ptr)):
        own = rows[begin:end]
        alone = network(own, torch.tensor([0, len(own)]), sizes[number, None], own[:, :3])
        torch.testing.assert_close(alone[0], together[number], rtol=1e-4, atol=1e-5)


def test_needs_positions() -> None:
    assert make("knn").needs_positions
    assert make("sampled", order="hilbert").needs_positions
    assert not make("sampled").needs_positions
    assert not make("linear").needs_positions


def test_pool_is_what_the_head_reads() -> None:
    network = make()
    arguments = torch.randn(9, 4), torch.tensor([0, 4, 9]), torch.zeros(2, 1)
    pooled = network.pool(*arguments)
    assert pooled.shape == (2, 3 * 16 + 1)
    torch.testing.assert_close(network.head(pooled), network(*arguments))


def test_moments_equal_those_of_each_set() -> None:
    x = torch.randn(7, 5, dtype=torch.double)
    mean, std = pool_moments(x, torch.tensor([0, 3, 3, 7]))
    torch.testing.assert_close(mean, torch.stack([x[:3].mean(0), torch.zeros(5).double(), x[3:].mean(0)]))
    torch.testing.assert_close(std[2], (x[3:].var(0, correction=0) + 1e-6).sqrt())
    assert (std[1] == 1e-3).all()


def test_members_stand_side_by_side() -> None:
    torch.manual_seed(0)
    names, shape = ["induced", "none"], {"dim": 16, "depth": 1, "heads": 2}
    both = SetEnsemble(4, 3, attention=names, dropout=0.0, attention_options=[{"inducing": 5}, {}], **shape).eval()
    inputs = torch.randn(9, 4), torch.tensor([0, 4, 9]), torch.zeros(2, 1)
    outputs = both(*inputs)
    assert outputs.shape == (2, 2, 3)
    for member, output in zip(both.members, outputs, strict=True):
        assert torch.equal(member(*inputs), output)
    assert both.pool(*inputs).shape == (1, 2, 2 * 49)
    assert not both.needs_positions
