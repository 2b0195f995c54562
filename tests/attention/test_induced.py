from __future__ import annotations

import torch
from scipy.stats import chi2

from sampled_transformer import InducedAttention


def test_sampled_keys_are_two_different_real_points_equally_likely() -> None:
    torch.manual_seed(0)
    layer = InducedAttention(8, 2, inducing=500, sampled=True).train()
    mask = torch.tensor([[True, False, True, True, True], [False, True, False, False, False]])
    x = torch.randn(2, 5, 8)
    counts = torch.zeros(5, 5)
    for _ in range(12):
        one, two = layer.draw(x, mask)[0, 0].chunk(2)
        counts.index_put_((one, two), torch.tensor(1.0), accumulate=True)
        assert (layer.draw(x, mask)[1] == 1).all()  # the only real point, twice
    assert (counts.diagonal() == 0).all()
    assert (counts[1] == 0).all()
    assert (counts[:, 1] == 0).all()
    pairs = counts[counts > 0]
    assert len(pairs) == 12
    statistic = float(((pairs - 500) ** 2 / 500).sum())
    assert statistic < chi2.ppf(0.999, 11)


def test_a_plain_batch_shares_its_keys_and_padded_sets_do_not() -> None:
    layer = InducedAttention(8, 2, sampled=True).train()
    x = torch.randn(3, 50, 8)
    assert layer.draw(x, None).shape == (1, 1, 32)
    drawn = layer.draw(x, torch.ones(3, 50).bool())
    assert drawn.shape == (3, 1, 32)
    assert not torch.equal(drawn[0], drawn[1])
