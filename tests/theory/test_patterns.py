from __future__ import annotations

import pytest
import torch

from sampled_transformer import Cycle
from sampled_transformer.theory import patterns


def test_pairs_as_written_and_as_meant() -> None:
    """eq:selective_attn with i = 2, and the example of the paper; here tokens count from 0."""
    assert patterns.pair_as_written(3, 1) == ((0, 1), (1,), ())
    assert patterns.pair(3, 1) == ((0,), (0, 1), ())
    assert patterns.pair(3, 0) == ((2, 0), (), (2,))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_all_pairs_together_are_the_cycle(n: int) -> None:
    union = [set[int]() for _ in range(n)]
    for i in range(n):
        for k, keys in enumerate(patterns.pair(n, i)):
            union[k] |= set(keys)
    assert union == [set(keys) for keys in patterns.cycle_to_previous(n)]


@pytest.mark.parametrize("n", [2, 3, 7])
def test_a_cycle_fits(n: int) -> None:
    """In a random cycle, tokens attend to the token before them: the proof's pattern is `Cycle.mask`."""
    cycle = Cycle.sample(n, generator=torch.Generator().manual_seed(n))
    tokens = patterns.tokens_of(cycle.order[0].tolist())
    mask = torch.zeros(n, n, dtype=torch.bool)
    for token, keys in enumerate(patterns.cycle_to_previous(n)):
        for key in keys:
            mask[tokens[token], tokens[key]] = True
    assert torch.equal(mask, cycle.mask()[0])
    assert patterns.from_successor(cycle.successor[0].tolist()) == tuple(
        (k, int(following)) for k, following in enumerate(cycle.successor[0])
    )


def test_reach_grows_by_one_token_a_layer() -> None:
    assert [len(seen) for seen in patterns.reach(patterns.cycle_to_next(5), 3)] == [4] * 5
    assert [len(seen) for seen in patterns.reach(patterns.path(5), 4)] == [5, 4, 3, 2, 1]


def test_an_order_names_every_point_once() -> None:
    with pytest.raises(ValueError, match=r"order: expected each of 0 to 2 once, got \[0, 2, 2\]"):
        patterns.tokens_of([0, 2, 2])
