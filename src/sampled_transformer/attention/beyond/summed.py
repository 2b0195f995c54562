"""Summed attention: heads that read sums over the whole set, at O(n); not part of the paper."""

from __future__ import annotations

import torch

from ..sampled import SampledAttention


class SummedAttention(SampledAttention):
    """All heads read sums over the whole set, but for `local` ones, which read a window of near points.

    A summing head has one sum of the values for each of its features, which a softmax of the keys over the points
    weights; every point mixes these sums by a softmax of its query (`summary_attention`). A local head is
    `SampledAttention` inside windows along a Hilbert curve through the positions, which is turned at random at every
    pass of training. With `local=0` nothing is left to chance, and positions are not needed.

    Args:
        local: how many heads, the last ones, look at windows.
        window: points of a window.
        samples, seed, generator: of the turns of the curve, as those of the cycles of `SampledAttention`.
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        local: int = 0,
        window: int = 16,
        samples: int = 1,
        seed: int = 0,
        generator: torch.Generator | None = None,
        head_dim: int | None = None,
        bias: bool = False,
        scale: float | None = None,
        layer: int = 0,
    ) -> None:
        if not 0 <= local <= heads:
            raise ValueError(f"local: expected 0 to {heads} heads, got {local}")
        if window < 2:
            raise ValueError(f"window: expected at least 2 points, got {window}")
        super().__init__(
            dim,
            heads,
            subset=window,
            inner="dense",
            order="hilbert",
            summed=heads - local,
            samples=samples,
            seed=seed,
            generator=generator,
            head_dim=head_dim,
            bias=bias,
            scale=scale,
            layer=layer,
        )
