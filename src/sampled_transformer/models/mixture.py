"""Networks that read a set and return the mixture of Gaussians it came from (section 6, appendix C)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ..blocks import as_block_options
from ..layers.mlp import relu_layers
from ..sets import Integers, settle_form
from .inputs import apply_per_set, check_width
from .set_transformer import SAB, SetEncoder

# In the units of the training sets. Without it, a component on a single point would be infinitely likely.
SMALLEST_DEVIATION = 1e-4


class Mixture(NamedTuple):
    """One mixture of K Gaussians in D dimensions per set.

    p(x) = sum_j pi_j N(x; mu_j, diag(sigma_j^2)),    j = 1, ..., K
    """

    log_weights: Tensor  # (sets, K), log pi; the weights pi sum to 1
    means: Tensor  # (sets, K, D), mu
    deviations: Tensor  # (sets, K, D), the standard deviations sigma

    def select(self, sets: Tensor | slice) -> Mixture:
        """The mixtures of some of the sets."""
        return Mixture(self.log_weights[sets], self.means[sets], self.deviations[sets])

    def double(self) -> Mixture:
        """The same mixtures in double precision."""
        return Mixture(self.log_weights.double(), self.means.double(), self.deviations.double())


class MixtureNetwork(nn.Module):
    """The base of the networks: sets in any form go in, one mixture per set comes out.

        pi = softmax(logits),    mu = means,    sigma = softplus(deviations) + smallest_deviation

    `raw` computes logits, means and deviations. Amortised clustering: appendix C of "Sampled Transformer for Point
    Sets" (https://openreview.net/forum?id=F7f4BYnDAIc), after section 5.3 of "Set Transformer"
    (https://arxiv.org/abs/1810.00825).

    Args:
        inputs: dimension of the points, D.
        components: Gaussians per mixture, K.
        smallest_deviation: lower bound of every deviation; Lee et al. have none.
    """

    def __init__(self, inputs: int, components: int, smallest_deviation: float = SMALLEST_DEVIATION) -> None:
        super().__init__()
        if inputs < 1 or components < 1:
            raise ValueError(f"inputs, components: expected at least 1, got {inputs} and {components}")
        if not 0 <= smallest_deviation < math.inf:
            raise ValueError(f"smallest_deviation: expected a finite number from 0 on, got {smallest_deviation}")
        self.inputs, self.components, self.smallest_deviation = inputs, components, smallest_deviation

    @property
    def outputs(self) -> int:
        """Numbers per component: a logit, D means and D deviations."""
        return 1 + 2 * self.inputs

    def forward(
        self,
        points: Tensor,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        *,
        batch: Integers | None = None,
        batch_size: int | None = None,
    ) -> Mixture:
        """Mixtures of points (batch, n, inputs) in any form; arguments as in `BasicClassifier.forward`."""
        (points,), ptr = settle_form({"points": points}, mask, ptr, batch, batch_size)
        check_width(points, self.inputs, "inputs")
        raw = apply_per_set(self.raw, points, mask, ptr)
        logits, means, deviations = raw.split([1, self.inputs, self.inputs], -1)
        return Mixture(logits.squeeze(-1).log_softmax(-1), means, softplus(deviations) + self.smallest_deviation)

    def raw(self, points: Tensor, mask: Tensor | None) -> Tensor:
        """(batch, n, inputs) -> (batch, components, outputs): a logit, the means, the deviations before softplus."""
        raise NotImplementedError


class SetTransformerMixture(MixtureNetwork):
    """The Set Transformer for clustering, with one seed of PMA per component.

        raw(X) = W SAB(SAB(PMA_K(ISAB_16(ISAB_16(X))))) + b

    The defaults are "ISAB(16) + PMA" of Table 8. `attention_options={"reading": "rows"}` gives "ISAB(16) + PMA +
    sampled attention (ours)".

    Args:
        inputs, components, smallest_deviation: as in `MixtureNetwork`.
        attention: "induced", or "dense", "sampled" or "sparse" self-attention over the points.
        dim, heads, depth: width, number of heads and number of the blocks over the points.
        decoder_depth: number of SABs between the components: 2 in Lee et al.'s code and in our paper, 1 in Lee et
            al.'s paper.
        attention_options: further options of the blocks over the points, such as {"reading": "columns"}, which reads
            every point.
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
        options = as_block_options(attention_options)
        self.encoder = SetEncoder(inputs, dim, heads, depth, components, attention, **options)
        self.decoder = nn.Sequential(*(SAB(dim, dim, heads) for _ in range(decoder_depth)))
        self.head = nn.Linear(dim, self.outputs)

    def raw(self, points: Tensor, mask: Tensor | None) -> Tensor:
        out: Tensor = self.head(self.decoder(self.encoder(points, mask)))
        return out


class PoolingMixture(MixtureNetwork):
    """The baseline "rFF + Pooling" of Table 8: layers on every point alone, the mean over the set, more layers.

        raw(X) = MLP_2(mean_i MLP_1(x_i)),    four layers each

    Args:
        inputs, components: as in `MixtureNetwork`.
        dim: width of all hidden layers.
    """

    def __init__(self, inputs: int = 2, components: int = 4, *, dim: int = 128) -> None:
        super().__init__(inputs, components)
        self.encoder = nn.Sequential(*relu_layers([inputs, dim, dim, dim, dim]))
        self.decoder = nn.Sequential(*relu_layers([dim] * 4), nn.Linear(dim, components * self.outputs))

    def raw(self, points: Tensor, mask: Tensor | None) -> Tensor:
        if mask is None:
            mask = torch.ones(points.shape[:2], dtype=torch.bool, device=points.device)
        x = self.encoder(points).masked_fill(~mask[..., None], 0)
        pooled = x.sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        out: Tensor = self.decoder(pooled).unflatten(-1, (self.components, self.outputs))
        return out
