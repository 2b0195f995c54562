"""The encoder that the Set Transformer's classifier and mixture network share: blocks, then pooling."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import torch
from torch import Tensor, nn

from ...attention import network_cycle
from ...attention.extreme import largest
from ...attention.kernels import take
from ...cycles import Cycle
from ...randomness import settle_keys
from ...support.registry import check_options
from .blocks import ISAB, PMA, SAB, SELF_ATTENTION

LARGEST = 1e12  # coordinate, where gradients are wanted
ISAB_OPTIONS = [part.name for part in signature(ISAB).parameters.values() if part.kind is Parameter.KEYWORD_ONLY]


class SetEncoder(nn.Module):
    """Blocks over the points, then PMA: (batch, n, inputs) -> (batch, seeds, dim).

        Encoder(X) = PMA(Dropout(Block_depth(... Block_1(X))))

    Args:
        inputs: width of the points.
        dim, heads: width and number of heads of all blocks.
        depth: number of blocks before the pooling.
        seeds: number of rows of the result.
        attention: "induced" for ISAB; "dense", "sampled" or "sparse" for SAB.
        dropout: share of the features dropped before the pooling, in training.
        attention_dropout: share of the attention weights dropped in training, an option of SAB only.
        seed, generator: of the random order in which ISAB with reading="columns" deals out the points.
        options: further options of the blocks.
    """

    def __init__(
        self,
        inputs: int,
        dim: int,
        heads: int,
        depth: int,
        seeds: int,
        attention: str = "induced",
        *,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        seed: int = 0,
        generator: torch.Generator | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        if inputs < 1 or depth < 1:
            raise ValueError(f"inputs, depth: expected at least 1, got {inputs} and {depth}")
        if attention != "induced" and attention not in SELF_ATTENTION:
            names = ", ".join(("induced", *SELF_ATTENTION))
            raise ValueError(f"attention: expected one of {names}, got {attention!r}")
        if attention_dropout:
            options["dropout"] = attention_dropout
        if attention == "induced":
            check_options("induced attention", options, ISAB_OPTIONS)
        self.inputs, self.seed, self.generator = inputs, seed, generator
        self.keyed_by = settle_keys(options.get("keyed_by"))
        widths = [inputs] + [dim] * (depth - 1)
        self.blocks = nn.ModuleList(
            ISAB(width, dim, heads, **options)
            if attention == "induced"
            else SAB(width, dim, heads, attention, **options)
            for width in widths
        )
        self.dropout = nn.Dropout(dropout)
        self.pool = PMA(dim, heads, seeds)
        self.shuffles = any(isinstance(block, ISAB) and block.reading == "columns" for block in self.blocks)
        layers: list[Any] = [module for module in self.modules() if hasattr(module, "layer")]
        for number, layer in enumerate(layers):  # layers of one number would read the same random points
            layer.layer = number

    @property
    def is_random(self) -> bool:
        """Whether the encoder itself puts the points in random order; its blocks speak for themselves."""
        return self.shuffles

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """points (batch, n, inputs); mask (batch, n), True where a point is real."""
        _, x, mask = self.encode(points, mask)
        out: Tensor = self.pool(self.dropout(x), mask)
        return out

    def encode(self, points: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Before pooling: the points, their features (batch, n, dim) and the mask, in the order of `shuffle`."""
        if points.shape[1] == 0:  # one point of padding, as an empty set among others has
            points = points.new_zeros(len(points), 1, self.inputs)
            mask = torch.zeros(points.shape[:2], dtype=torch.bool, device=points.device)
        self._check_size(points)
        points, mask = self.shuffle(points, mask) if self.shuffles else (points, mask)
        x = points
        # A point is what it came with: its coordinates, and normals if there are any.
        cycle = network_cycle((block.attention for block in self.blocks if isinstance(block, SAB)), x, points, mask)
        for block in self.blocks:
            x = block(x, mask, points) if cycle is None else block(x, mask, points, cycle)
        return points, x, mask

    def _check_size(self, points: Tensor) -> None:
        """Refuse coordinates whose gradients leave the range of floats: there is no norm between the blocks."""
        if torch.is_grad_enabled() and (found := largest(points)) > LARGEST:
            advice = "centre and scale the sets"
            raise ValueError(
                f"points: expected at most {LARGEST:g} where gradients are wanted, got {found:g}; {advice}"
            )

    def shuffle(self, points: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The points in the order of a random cycle, with the padding last.

        We shuffle here because the points are still narrow and the pooled result does not depend on their order.
        Training draws a fresh order; in evaluation the order follows from the seed and the points, or, keyed by
        "places", the size of the set.
        """
        n, device = points.shape[1], points.device
        if self.training:
            cycle = Cycle.sample(n, 1, self.generator, device, mask=mask)
        elif self.keyed_by == "points":
            cycle = Cycle.from_points((self.seed,), points, mask=mask)
        else:
            cycle = Cycle.from_seed((self.seed,), n, 1, device, mask=mask)
        order = cycle.with_batch(cycle.order)  # (batch or 1, 1, n)
        shuffled = take(points[:, :, None], order.clamp(min=0)).squeeze(2)
        return shuffled, None if mask is None else order[:, 0] >= 0
