from __future__ import annotations

import pytest
import torch
from helpers.set_transformer import seeded, softmax_mean

from sampled_transformer.attention.pairs import sample_pairs
from sampled_transformer.models.set_transformer.reading import average, average_of_dealt, average_of_two, dealt_mask


@pytest.mark.parametrize("n", [1, 2, 4, 5, 12, 23])
@pytest.mark.parametrize("kept", [1, 2, 3, 5])
def test_dealt_points_are_read_by_their_queries(n: int, kept: int) -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, n, 3, seed=1, dtype=torch.float64)
    found = average_of_dealt(queries, y, kept)
    size = n // 5
    for query in range(5):
        heaps = [(query + turn) % 5 for turn in range(kept)]
        places = [place for heap in heaps for place in range(heap * size, (heap + 1) * size)]
        places += range(5 * size, n)
        for number in range(2):
            for head in range(2):
                expected = softmax_mean(queries[query, head], y[number, places])
                torch.testing.assert_close(found[number, query, head], expected)


def test_dealt_points_are_all_read_equally_often() -> None:
    allowed = dealt_mask(torch.ones(1, 40, dtype=torch.bool), 8, 3)[0]
    assert (allowed.sum(0) == 3).all()
    assert (allowed.sum(1) == 15).all()


@pytest.mark.parametrize("size", [1, 3, 5, 17, 20])
def test_padded_dealing_is_that_of_the_set_alone(size: int) -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, 20, 3, seed=1, dtype=torch.float64)
    mask = torch.arange(20) < torch.tensor([[size], [20]])
    found = average(queries, y, dealt_mask(mask, 5, 2))
    torch.testing.assert_close(found[:1], average_of_dealt(queries, y[:1, :size], 2))
    torch.testing.assert_close(found[1:], average_of_dealt(queries, y[1:], 2))


def test_all_columns_kept_is_dense() -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, 23, 3, seed=1, dtype=torch.float64)
    torch.testing.assert_close(average_of_dealt(queries, y, 5), average(queries, y))


@pytest.mark.parametrize("heads", [1, 2])
def test_two_points_are_read_and_no_others(heads: int) -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, 23, 3, seed=1, dtype=torch.float64)
    drawn = sample_pairs(5, 23, sets=2, heads=heads)
    found = average_of_two(queries, y, drawn)
    for number in range(2):
        for head in range(2):
            one, two = drawn[number, head % heads].chunk(2)
            for query in range(5):
                pair = y[number, [int(one[query]), int(two[query])]]
                torch.testing.assert_close(found[number, query, head], softmax_mean(queries[query, head], pair))


def test_all_points_are_read_or_those_that_are_allowed() -> None:
    queries, y = seeded(5, 2, 3, dtype=torch.float64), seeded(2, 9, 3, seed=1, dtype=torch.float64)
    allowed = seeded(2, 5, 9, seed=2) > 0
    allowed[0, 0] = False  # a query that may read no point
    everything, some = average(queries, y), average(queries, y, allowed)
    assert some.isfinite().all()
    for number in range(2):
        for query in range(5):
            for head in range(2):
                expected = softmax_mean(queries[query, head], y[number])
                torch.testing.assert_close(everything[number, query, head], expected)
                if allowed[number, query].any():
                    expected = softmax_mean(queries[query, head], y[number, allowed[number, query]])
                    torch.testing.assert_close(some[number, query, head], expected)
