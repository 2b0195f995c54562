"""Stratified attention: windows and sparse keys."""

from __future__ import annotations

import pytest
import torch

from sampled_transformer import StratifiedAttention
from sampled_transformer.attention import stratified
from sampled_transformer.sets import Sets


def seen(layer: StratifiedAttention, positions: torch.Tensor, k: int) -> list[int]:
    x = torch.randn(1, positions.shape[1], 8, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad(layer(x, positions)[0, k].sum(), x)
    return (grad[0].abs().amax(1) > 0).nonzero().flatten().tolist()


def test_points_of_a_window_read_each_other_and_not_what_is_far_away() -> None:
    torch.manual_seed(0)
    layer = StratifiedAttention(8, 2, window=1.0).double()
    near = torch.rand(1, 5, 3, dtype=torch.float64) * 0.9
    positions = torch.cat([near, near + 10], 1)
    assert seen(layer, positions, 2) == [0, 1, 2, 3, 4]


def test_odd_layers_shift_the_grid_by_half_a_window() -> None:
    """Two points on both sides of a border of the grid share a window only in shifted layers."""
    torch.manual_seed(0)
    positions = torch.tensor([[[0.9, 0.1, 0.1], [1.1, 0.1, 0.1], *[[50.0 + k, 0.1, 0.1] for k in range(6)]]]).double()
    even, odd = (StratifiedAttention(8, 2, window=1.0, layer=layer).double() for layer in (0, 1))
    assert 1 in seen(odd, positions, 0)
    far = StratifiedAttention(8, 2, window=0.05, layer=0).double()
    assert 1 not in seen(far, positions, 0)
    assert 0 in seen(even, positions, 0)


def test_the_order_of_the_points_does_not_matter() -> None:
    torch.manual_seed(0)
    layer = StratifiedAttention(8, 2).double()
    x, positions = torch.randn(1, 40, 8, dtype=torch.float64), torch.rand(1, 40, 3, dtype=torch.float64)
    turned = torch.randperm(40)
    torch.testing.assert_close(layer(x[:, turned], positions[:, turned]), layer(x, positions)[:, turned])


def keys_per_query(layer: StratifiedAttention, positions: torch.Tensor) -> torch.Tensor:
    """How many keys each point reads, itself among them, (n,)."""
    read = torch.zeros(positions.shape[1], dtype=torch.int64)
    for queries, keys in layer.groups(positions, Sets()):
        for own, theirs in zip(queries[0, 0], keys[0, 0], strict=True):
            members, found = own[own >= 0], theirs[theirs >= 0]
            assert set(members.tolist()) <= set(found.tolist())
            read[members] = len(found)
    return read


def test_crowded_windows_are_cut_until_the_keys_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratified, "MOST_KEYS", 8)
    torch.manual_seed(0)
    layer, positions = StratifiedAttention(8, 2, window=10.0).eval(), torch.rand(1, 300, 3)
    read = keys_per_query(layer, positions)
    assert read.min() >= 1
    assert read.max() <= 16
    x, order = torch.randn(1, 300, 8), torch.randperm(300)
    assert torch.equal(layer(x, positions)[:, order], layer(x[:, order], positions[:, order]))


def test_points_at_one_place_are_dealt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stratified, "MOST_KEYS", 8)
    read = keys_per_query(StratifiedAttention(8, 2).eval(), torch.zeros(1, 100, 3))
    assert read.min() >= 1
    assert read.max() <= 16


def test_the_sparse_subset_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    points, owner = torch.rand(200, 3), torch.zeros(200, dtype=torch.int64)
    all_of_them = stratified._sparse(points, owner)
    monkeypatch.setattr(stratified, "MOST_SPARSE", 7)
    assert torch.equal(stratified._sparse(points, owner), all_of_them[:7])


def test_ordinary_clouds_do_not_change(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer, x, positions = StratifiedAttention(8, 2).eval(), torch.randn(2, 200, 8), torch.rand(2, 200, 3)
    bounded = layer(x, positions)
    for name in ("MOST_KEYS", "MOST_SPARSE"):
        monkeypatch.setattr(stratified, name, 10**9)
    assert torch.equal(layer(x, positions), bounded)
