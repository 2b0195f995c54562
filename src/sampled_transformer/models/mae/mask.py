"""The mask of the autoencoder: which groups of a cloud stay visible (section 5.1: 70 % are masked)."""

from __future__ import annotations

import torch
from torch import Generator, Tensor


def masked_count(groups: int, ratio: float) -> int:
    """The number of masked groups, floor(ratio groups), as in Point-MAE (70 % of 64 are 44)."""
    if not 0 < ratio < 1:
        raise ValueError(f"mask_ratio: expected more than 0 and less than 1, got {ratio}")
    count = int(ratio * groups + 1e-9)  # 0.7 * 10 is 7 here, whatever its last bit says
    if not 0 < count < groups:
        raise ValueError(
            f"mask_ratio: expected at least one visible and one masked group, got {count} masked of {groups} ({ratio})"
        )
    return count


def draw_mask(
    batch: int, groups: int, ratio: float, generator: Generator | None = None, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Draw a random mask for every cloud: indices of the visible and of the masked groups.

    Every choice of `masked_count(groups, ratio)` groups is equally likely.

    Args:
        batch: number of clouds.
        groups: number of groups per cloud.
        ratio: share of the groups that is masked.
        generator: source of the random numbers, which are drawn on its device (default: torch's global one).
        device: device of the result.

    Returns:
        visible (batch, groups - masked) and masked (batch, masked).
    """
    masked = masked_count(groups, ratio)
    place = device if generator is None else generator.device
    order = torch.rand(batch, groups, generator=generator, device=place).argsort(1).to(device)
    return order[:, masked:], order[:, :masked]
