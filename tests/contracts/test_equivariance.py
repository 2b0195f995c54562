"""Permuting the points permutes the output: always where the mechanism knows no order, with the cycle where it does."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import Cycle, create_attention

UNORDERED = {
    "none": ("none", {}),
    "dense": ("dense", {}),
    "knn": ("knn", {"k": 4}),
    "knn-vector": ("knn", {"k": 4, "vector": True}),
    "induced": ("induced", {}),
    "stratified": ("stratified", {}),
    "stratified-shifted": ("stratified", {"layer": 1, "window": 0.7}),
    "sampled-whole": ("sampled", {"inner": "dense", "subset": 100}),  # n_s > n: no order is left
}
WITH_CYCLE = {
    "sampled": {},
    "per-head": {"cycles": "per-head"},
    "subsets": {"inner": "dense", "subset": 5},
    "sequential": {"composition": "sequential", "subset": 4},
}


def setup() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    x = torch.randn(2, 19, 8, dtype=torch.float64)
    return x, torch.rand(2, 19, 3, dtype=torch.float64) * 2 - 1, torch.randperm(19)


@pytest.mark.parametrize("case", UNORDERED)
def test_unordered_mechanisms_are_equivariant(case: str) -> None:
    name, options = UNORDERED[case]
    x, positions, permutation = setup()
    layer = create_attention(name, 8, 2, **options).double().eval()
    expected = layer(x, positions)[:, permutation]
    moved = layer(x[:, permutation], positions[:, permutation])
    torch.testing.assert_close(moved, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", WITH_CYCLE)
def test_points_and_cycle_move_together(case: str) -> None:
    x, _, permutation = setup()
    layer = create_attention("sampled", 8, 2, **WITH_CYCLE[case]).double()
    cycle = Cycle.sample(19, 2 if case == "per-head" else 1)
    expected = layer(x, cycle=cycle)[:, permutation]
    moved = layer(x[:, permutation], cycle=cycle.permute(permutation))
    torch.testing.assert_close(moved, expected, rtol=0, atol=1e-12)
    # The cycle alone decides: the same points with another cycle give another answer.
    assert not torch.allclose(layer(x[:, permutation], cycle=cycle), expected)


def test_sparse_depends_on_the_order() -> None:
    x, _, permutation = setup()
    layer = create_attention("sparse", 8, 2).double()
    assert not torch.allclose(layer(x[:, permutation]), layer(x)[:, permutation])
    assert torch.allclose(layer(x.roll(1, 1)), layer(x).roll(1, 1))
