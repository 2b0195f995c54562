"""The cost of every mechanism but `dense` grows with the number of points, not with its square."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from helpers.variants import VARIANTS, build
from torch.utils._python_dispatch import TorchDispatchMode


class Sizes(TorchDispatchMode):
    """Adds up the elements of everything that torch computes: a measure of work that no clock disturbs."""

    total = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            self.total += tensor.numel() if isinstance(tensor, torch.Tensor) else 0
        return result


def work(variant: str, n: int) -> int:
    layer = build(variant).train()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(1, n, 16, generator=generator, requires_grad=True)
    # As many points in a window or neighbourhood whatever n is.
    positions = torch.rand(1, n, 3, generator=generator) * (n / 64) ** (1 / 3)
    with Sizes() as sizes:
        (x + layer(x, positions)).sum().backward()
    return sizes.total


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name not in ("dense", "sampled-sequential")])
def test_work_grows_with_the_number_of_points(variant: str) -> None:
    # Large enough for neighbours and farthest points to be found without looking at all pairs.
    base = 16384 if variant == "stratified" else 4096
    assert work(variant, 4 * base) < 4.4 * work(variant, base)


@pytest.mark.parametrize("subset", [2, 4])
def test_sequential_work_grows_with_the_number_of_points(subset: int) -> None:
    def steps(n: int) -> int:
        layer = build("sampled", composition="sequential", subset=subset)
        x = torch.randn(1, n, 16, requires_grad=True)
        with Sizes() as sizes:
            layer(x).sum().backward()
        return sizes.total

    assert steps(800) < 4.4 * steps(200)


@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "dense"])
def test_one_large_set_among_many_small_ones_costs_no_more_than_its_points(variant: str) -> None:
    def spent(m: int) -> int:
        """m sets of one point, and one of m."""
        layer = build(variant)
        x, positions = torch.randn(2 * m, 16), torch.rand(2 * m, 3)
        with Sizes() as sizes:
            layer(x, positions, ptr=torch.cat([torch.arange(m + 1), torch.tensor([2 * m])]))
        return sizes.total

    # Squared growth would be sixteenfold; neighbours and windows of few points are counted whole.
    assert spent(800) < 7 * spent(200)
