"""Two different random points per row."""

from __future__ import annotations

import pytest
import torch
from scipy.stats import chi2

from sampled_transformer.attention.pairs import pairs_from_seed, row_pairs_from_seed, sample_pairs

MASK = torch.tensor([[True, False, True, True, True], [False, True, False, False, False], [False] * 5])


def test_pairs_of_real_points_are_different_and_equally_likely() -> None:
    torch.manual_seed(0)
    drawn = sample_pairs(6000, 5, sets=3, mask=MASK)
    assert drawn.shape == (3, 1, 12000)
    one, two = drawn[0, 0].chunk(2)
    counts = torch.zeros(5, 5).index_put((one, two), torch.tensor(1.0), accumulate=True)
    assert (counts.diagonal() == 0).all()
    assert (counts[1] == 0).all()
    assert (counts[:, 1] == 0).all()
    pairs = counts[counts > 0]
    assert len(pairs) == 12
    assert float(((pairs - 500) ** 2 / 500).sum()) < chi2.ppf(0.999, 11)
    assert (drawn[1] == 1).all()  # the only real point, twice


def test_seeded_pairs_are_different_and_equally_likely() -> None:
    one, two = torch.cat([pairs_from_seed((seed, 0), 30, 4) for seed in range(200)]).chunk(2, 2)
    counts = torch.zeros(4, 4).index_put((one.flatten(), two.flatten()), torch.tensor(1.0), accumulate=True)
    assert (counts.diagonal() == 0).all()
    pairs = counts[~torch.eye(4, dtype=torch.bool)]
    assert float(((pairs - 500) ** 2 / 500).sum()) < chi2.ppf(0.999, 11)


@pytest.mark.parametrize("n", [1, 2, 3, 1000])
def test_indices_lie_within_the_set(n: int) -> None:
    for drawn in (sample_pairs(50, n, sets=2, heads=3), pairs_from_seed(0, 50, n, heads=3)):
        one, two = drawn.chunk(2, -1)
        assert drawn.min() >= 0
        assert drawn.max() < n
        assert bool((one != two).all()) == (n > 1)


def test_sets_and_heads_draw_their_own() -> None:
    drawn = sample_pairs(5, 1000, sets=3, heads=4)
    assert drawn.shape == (3, 4, 10)
    assert len({tuple(row.tolist()) for row in drawn.flatten(0, 1)}) == 12
    seeded = pairs_from_seed((0, 1), 5, 1000, heads=4)
    assert seeded.shape == (1, 4, 10)
    assert len({tuple(row.tolist()) for row in seeded[0]}) == 4


def test_the_seed_and_the_size_decide_alone() -> None:
    one = pairs_from_seed((3, 1), 5, 40, heads=2)
    torch.manual_seed(7)
    assert torch.equal(pairs_from_seed((3, 1), 5, 40, heads=2), one)
    assert not torch.equal(pairs_from_seed((4, 1), 5, 40, heads=2), one)
    mask = torch.zeros(2, 60, dtype=torch.bool)
    mask[0, :40] = mask[1, 20:] = True  # the same 40 points, elsewhere in the padding
    padded = pairs_from_seed((3, 1), 5, 60, heads=2, mask=mask)
    assert torch.equal(padded, torch.cat([one, one + 20]))


def test_the_generator_draws_and_the_global_state_stays() -> None:
    before = torch.get_rng_state()
    one, two = (sample_pairs(5, 40, generator=torch.Generator().manual_seed(2)) for _ in range(2))
    assert torch.equal(one, two)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(sample_pairs(5, 40), sample_pairs(5, 40))


def test_pairs_of_rows_that_are_points_are_equally_likely_and_ignore_padding() -> None:
    drawn = [row_pairs_from_seed((seed, 0), 30, 4, 2, None, None) for seed in range(200)]
    one, two = torch.cat(drawn).chunk(2, 2)
    counts = torch.zeros(4, 4).index_put((one.flatten(), two.flatten()), torch.tensor(1.0), accumulate=True)
    assert (counts.diagonal() == 0).all()
    pairs = counts[counts > 0]
    assert len(pairs) == 12
    assert float(((pairs - 1000) ** 2 / 1000).sum()) < chi2.ppf(0.999, 11)
    plain = row_pairs_from_seed(5, 3, 4, 2, None, None)  # three rows and four points
    rows = torch.tensor([[True, False, True, False, True]])
    padded = row_pairs_from_seed(5, 5, 5, 2, rows, MASK[:1])
    real = MASK[0].nonzero().squeeze(1)
    kept = padded.unflatten(2, (2, 5))[..., rows[0]]
    assert torch.equal(real[plain.unflatten(2, (2, 3))], kept)
