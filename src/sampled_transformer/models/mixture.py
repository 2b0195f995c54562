"""Networks that read a set and give the mixture of Gaussians it came from (section 6, appendix C)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from .set_transformer import SAB, SetEncoder, check_width, in_any_form

SMALLEST_DEVIATION = 1e-4  # in the units of the training sets: a component on one point must not be infinitely likely


class Mixture(NamedTuple):
    """One mixture of K Gaussians in D dimensions for each set."""

    log_weights: Tensor  # (sets, K), the logarithms of weights that sum to 1
    means: Tensor  # (sets, K, D)
    deviations: Tensor  # (sets, K, D), standard deviations

    def select(self, sets: Tensor | slice) -> Mixture:
        return Mixture(self.log_weights[sets], self.means[sets], self.deviations[sets])

    def double(self) -> Mixture:
        return Mixture(self.log_weights.double(), self.means.double(), self.deviations.double())


class MixtureNetwork(nn.Module):
    """What the networks share: sets in any form go in, one mixture a set comes out. `raw` is the network itself."""

    def __init__(self, inputs: int, components: int, smallest_deviation: float = SMALLEST_DEVIATION) -> None:
        super().__init__()
        if inputs < 1 or components < 1:
            raise ValueError(f"inputs, components: expected at least 1, got {inputs} and {components}")
        if not 0 <= smallest_deviation < math.inf:
            raise ValueError(f"smallest_deviation: expected 0 or a positive number, got {smallest_deviation}")
        self.inputs, self.components, self.smallest_deviation = inputs, components, smallest_deviation

    @property
    def outputs(self) -> int:
        """Numbers that describe a component: its weight, its mean and its deviation."""
        return 1 + 2 * self.inputs

    def forward(self, points: Tensor, mask: Tensor | None = None, ptr: Tensor | None = None) -> Mixture:
        """Mixtures of points (batch, n, inputs), padded with `mask`, or packed (total, inputs) with `ptr`."""
        check_width(points, self.inputs)
        raw = in_any_form(self.raw, points, mask, ptr)
        logits, means, deviations = raw.split([1, self.inputs, self.inputs], -1)
        return Mixture(logits.squeeze(-1).log_softmax(-1), means, softplus(deviations) + self.smallest_deviation)

    def raw(self, points: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, n, inputs) -> (batch, components, outputs): a logit, a mean, deviations before softplus."""
        raise NotImplementedError


class SetTransformerMixture(MixtureNetwork):
    """ISAB(16) twice, PMA with a seed for each component, SAB twice, one linear layer: ISAB(16) + PMA of the table.

    Args:
        inputs: dimension of the points.
        components: Gaussians of a mixture.
        attention: "induced", or "dense", "sampled" or "sparse" self-attention over the points.
        dim, heads, depth: of the blocks over the points.
        decoder_depth: SABs between the components, 2 in Lee et al.'s code and in the paper, 1 in Lee et al.'s paper.
        attention_options: further options of the blocks over the points, such as reading="rows" for the paper's
            sampled form, or reading="columns" for one that reads every point.
        smallest_deviation: added to every deviation; Lee et al. add none.
    """

    def __init__(
        self,
        inputs: int = 2,
        components: int = 4,
        *,
        attention: str = "induced",
        dim: int = 128,
        heads: int = 4,
        depth: int = 2,
        decoder_depth: int = 2,
        attention_options: Mapping[str, Any] | None = None,
        smallest_deviation: float = SMALLEST_DEVIATION,
    ) -> None:
        super().__init__(inputs, components, smallest_deviation)
        self.encoder = SetEncoder(inputs, dim, heads, depth, components, attention, **(attention_options or {}))
        self.decoder = nn.Sequential(*(SAB(dim, dim, heads) for _ in range(decoder_depth)))
        self.head = nn.Linear(dim, self.outputs)

    def raw(self, points: Tensor, mask: Tensor | None) -> Tensor:
        return self.head(self.decoder(self.encoder(points, mask)))


class PoolingMixture(MixtureNetwork):
    """The baseline rFF + Pooling: four layers on every point alone, the mean over the set, four layers more."""

    def __init__(self, inputs: int = 2, components: int = 4, *, dim: int = 128) -> None:
        super().__init__(inputs, components)
        self.encoder = _layers([inputs, dim, dim, dim, dim])
        self.decoder = nn.Sequential(*_layers([dim] * 4), nn.Linear(dim, components * self.outputs))

    def raw(self, points: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            mask = torch.ones(points.shape[:2], dtype=torch.bool, device=points.device)
        x = self.encoder(points).masked_fill(~mask[..., None], 0)
        pooled = x.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        return self.decoder(pooled).unflatten(-1, (self.components, self.outputs))


def _layers(widths: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for one, two in pairwise(widths):
        layers += [nn.Linear(one, two), nn.ReLU()]
    return nn.Sequential(*layers)
