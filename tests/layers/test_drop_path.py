from __future__ import annotations

import pytest
import torch

from sampled_transformer.layers.drop_path import DropPath


@pytest.mark.parametrize("packed", [False, True])
def test_drops_whole_sets_and_keeps_the_mean(packed: bool) -> None:
    layer = DropPath(0.5).train()
    torch.manual_seed(0)
    x = torch.ones(4000, 3, 4)
    ptr = torch.arange(0, 12001, 3) if packed else None
    y = layer(x.flatten(0, 1) if packed else x, ptr).view_as(x)
    assert set(y.unique().tolist()) == {0.0, 2.0}
    assert (y == y[:, :1, :1]).all()
    assert abs(float(y.mean()) - 1) < 5 * (1 / 4000) ** 0.5
    assert torch.equal(layer.eval()(x), x)


def test_packed_sets_of_any_size_are_dropped_as_a_whole() -> None:
    torch.manual_seed(0)
    sizes = [0, 3, 1, 0, 7]
    ptr = torch.tensor([0, *sizes]).cumsum(0)
    for _ in range(20):
        y = DropPath(0.5).train()(torch.ones(11, 2), ptr)
        assert all(len(part.unique()) <= 1 for part in y.split(sizes))


def test_probability_zero_changes_nothing_and_draws_nothing() -> None:
    x = torch.randn(3, 4, 5)
    before = torch.get_rng_state()
    assert DropPath(0.0).train()(x) is x
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("probability", [-0.1, 1.0, float("nan")])
def test_other_probabilities_are_refused(probability: float) -> None:
    with pytest.raises(ValueError, match=r"^drop_path: expected a probability from 0 to below 1, got"):
        DropPath(probability)
