"""Sets of different sizes in every form that the geometry functions accept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor


@dataclass(frozen=True)
class Sets:
    each: list[Tensor]  # the sets one by one, (size, dimension)
    padded: Tensor  # (sets, width, dimension), padding is NaN, at random places between the points
    mask: Tensor
    packed: Tensor
    ptr: Tensor

    def slots(self, number: int) -> Tensor:
        """The indices of the real points in the padded row of a set."""
        return self.mask[number].nonzero().squeeze(1)


@pytest.fixture(scope="session")
def make_sets() -> Callable[..., Sets]:
    def make(sizes: Sequence[int], dimension: int = 3, seed: int = 0, grid: int | None = None, spare: int = 2) -> Sets:
        """Random sets in float64. With `grid`, integers below it, so that points coincide and distances tie."""
        generator = torch.Generator().manual_seed(seed)

        def draw(size: int) -> Tensor:
            if grid is not None:
                return torch.randint(grid, (size, dimension), generator=generator).double()
            return torch.randn(size, dimension, generator=generator, dtype=torch.float64)

        each = [draw(size) for size in sizes]
        width = max(sizes, default=0) + spare
        padded = torch.full((len(sizes), width, dimension), torch.nan, dtype=torch.float64)
        mask = torch.zeros(len(sizes), width, dtype=torch.bool)
        for number, points in enumerate(each):
            slots = torch.randperm(width, generator=generator)[: len(points)].sort().values
            mask[number, slots] = True
            padded[number, slots] = points
        packed = torch.cat([torch.empty(0, dimension, dtype=torch.float64), *each])
        ptr = torch.tensor([0, *sizes]).cumsum(0)
        return Sets(each, padded, mask, packed, ptr)

    return make
