"""Local layers against loops over points and neighbours."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sampled_transformer.geometry.neighbourhoods import Level, build_levels
from sampled_transformer.layers import local
from sampled_transformer.layers.local import Interpolate, LocalBlock, LocalMerge, in_chunks


@pytest.fixture
def levels() -> list[Level]:
    torch.manual_seed(0)
    return build_levels(torch.rand(70, 3), torch.tensor([0, 40, 43, 43, 70]), 2, 8, 1.5)


def settle(layer: nn.Module) -> nn.Module:
    """Batch statistics that change something."""
    for module in layer.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean.uniform_(-0.5, 0.5)
            module.running_var.uniform_(0.5, 1.5)
    return layer.eval()


def slow_merge(layer: LocalMerge, x: torch.Tensor, level: Level, row: int) -> torch.Tensor:
    candidates = []
    for neighbour in level.neighbours[row]:
        way = (level.points[neighbour] - level.points[row]) / level.radius[row]
        offset = torch.cat([way, level.crowding[row : row + 1]])
        merged = layer.point(x[neighbour]) + layer.offset(offset)
        if layer.deep is not None:
            merged = layer.deep((merged + layer.own(x[row])).unsqueeze(0)).squeeze(0)
        candidates.append(merged)
    best = torch.stack(candidates).amax(0)
    best = best if layer.deep is not None else best + layer.own(x[row])
    return layer.norm(best.unsqueeze(0)).relu().squeeze(0)


@pytest.mark.parametrize("deep", [False, True])
def test_a_merge_is_what_a_loop_gives(levels: list[Level], deep: bool) -> None:
    layer, x = settle(LocalMerge(5, 7, deep)), torch.randn(70, 5)
    with torch.no_grad():
        expected = torch.stack([slow_merge(layer, x, levels[0], row) for row in range(70)])
        torch.testing.assert_close(layer(x, levels[0]), expected, rtol=1e-5, atol=1e-5)
        rows = levels[0].step.kept
        torch.testing.assert_close(layer(x, levels[0], rows), expected[rows], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(layer(x, levels[0]), expected, rtol=1e-4, atol=1e-4)  # gradients use the last bits


@pytest.mark.parametrize("deep", [False, True])
def test_gradients_reach_every_parameter(levels: list[Level], deep: bool) -> None:
    layer, x = LocalMerge(5, 7, deep), torch.randn(70, 5, requires_grad=True)
    layer(x, levels[0]).square().sum().backward()
    assert all(one.grad is not None and one.grad.any() for one in layer.parameters())
    assert x.grad.any()


def test_a_block_adds_to_what_it_gets(levels: list[Level]) -> None:
    block, x = settle(LocalBlock(6)), torch.rand(70, 6)
    with torch.no_grad():
        hidden = block.expand_norm(block.expand(block.merge(x, levels[0]))).relu()
        expected = (x + block.contract_norm(block.contract(hidden))).relu()
        assert torch.equal(block(x, levels[0]), expected)


def test_interpolation_is_what_a_loop_gives(levels: list[Level]) -> None:
    step = levels[0].step
    layer, x, y = settle(Interpolate(4, 6)), torch.randn(70, 4), torch.randn(len(step.kept), 6)
    with torch.no_grad():
        for row, found in enumerate(layer(x, y, step)):
            spread = sum(share * y[cell] for share, cell in zip(step.shares[row], step.cells[row], strict=True))
            expected = layer.norm((layer.fine(x[row]) + layer.coarse(spread)).unsqueeze(0)).relu().squeeze(0)
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_chunks_change_nothing(levels: list[Level], monkeypatch: pytest.MonkeyPatch) -> None:
    shallow, deep = settle(LocalMerge(5, 7)), settle(LocalMerge(5, 7, deep=True))
    block, up, x = settle(LocalBlock(5)), settle(Interpolate(5, 5)), torch.randn(70, 5)
    step = levels[0].step

    @torch.no_grad()
    def answers() -> list[torch.Tensor]:
        level = levels[0]
        return [shallow(x, level), deep(x, level, step.kept), block(x, level), up(x, x[step.kept], step)]

    whole = answers()
    monkeypatch.setattr(local, "CHUNK", 9)
    for one, other in zip(answers(), whole, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-6)


def test_chunks_are_for_evaluation_without_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "CHUNK", 9)
    layer = nn.Sequential(nn.Linear(2, 3)).eval()
    sizes: list[int] = []

    def note(some: slice) -> torch.Tensor:
        sizes.append(some.stop - some.start)
        return torch.arange(some.start, some.stop)

    with torch.no_grad():
        assert torch.equal(in_chunks(note, layer, 20), torch.arange(20))
        assert torch.equal(in_chunks(note, layer, 10, rows_per_point=2), torch.arange(10))
    assert sizes == [9, 9, 2, 4, 4, 2]
    in_chunks(note, layer, 20)  # gradients need all rows at once
    with torch.no_grad():
        in_chunks(note, layer.train(), 20)
        layer.eval()[0].register_forward_hook(lambda *_: None)
        in_chunks(note, layer, 20)
    assert sizes[6:] == [20, 20, 20]


def test_a_hook_sees_all_points(levels: list[Level], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "CHUNK", 9)
    block, seen = settle(LocalBlock(5)), []
    block.expand.register_forward_hook(lambda module, inputs, output: seen.append(len(output)))
    with torch.no_grad():
        block(torch.randn(70, 5), levels[0])
    assert seen == [70]


@pytest.mark.parametrize("deep", [False, True])
def test_one_point_can_be_trained_on(deep: bool) -> None:
    """A coarse level of a small set may have a single point, and torch's BatchNorm refuses one row."""
    level = build_levels(torch.rand(1, 3), torch.tensor([0, 1]), 1, 4, 1.5)[0]
    merge, block, up = LocalMerge(3, 3, deep), LocalBlock(3), Interpolate(3, 3)
    step = build_levels(torch.rand(1, 3), torch.tensor([0, 1]), 2, 4, 1.5)[0].step
    x = torch.rand(1, 3)
    assert up(block(merge(x, level), level), x, step).isfinite().all()
