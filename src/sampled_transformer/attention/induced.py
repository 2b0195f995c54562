"""Attention through inducing points (Set Transformer), and the paper's sampled form of it (appendix B.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..cycles import Cycles
from ..layers.feed_forward import FeedForward
from ..sets import Sets
from .base import Attention
from .dense import read_all
from .kernels import take, two_keys
from .pairs import pairs_from_seed, sample_pairs


class InducedAttention(Attention):
    """m learnable points I read the set X, then every point reads the m summaries: O(n m).

        S = I + W_O' [softmax(scale (W_Q' I)(W_K' X)^T) W_V' X]    [...]: all heads, side by side
        H = S + W_2 ReLU(W_1 S)                                    = MAB(I, X)
        Attention(X) = W_O [softmax(scale (W_Q X)(W_K H)^T) W_V H]

    With the residual and the feed-forward layer of a block around it, this is the induced set attention block ISAB(X) =
    MAB(X, MAB(I, X)), Eq. 9 of "Set Transformer" (https://arxiv.org/abs/1810.00825). Both MABs have the form of Eq. 1
    of "Sampled Transformer for Point Sets" (https://openreview.net/forum?id=F7f4BYnDAIc), which compares with this
    block in its basic setting (appendix B.3, Table 4). `models.set_transformer.ISAB` is the block of Lee et al.'s own
    code.

    Args:
        dim, heads, head_dim, bias, scale, layer: as in `Attention`.
        inducing: number of inducing points, m.
        sampled: the paper's sampled form: every inducing point reads two random points instead of all n. All heads,
            and all sets of a plain batch, share them. Training draws new ones in every call; in evaluation they follow
            from the size of the set, the seed and the layer. The second step, in which the points read m summaries,
            stays the same.
        summary_hidden: width of W_1 (default: dim).
        seed, generator: as in `SampledAttention`.
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        inducing: int = 16,
        sampled: bool = False,
        summary_hidden: int | None = None,
        seed: int = 0,
        generator: torch.Generator | None = None,
        head_dim: int | None = None,
        bias: bool = False,
        scale: float | None = None,
        layer: int = 0,
    ) -> None:
        super().__init__(dim, heads, head_dim=head_dim, bias=bias, scale=scale, layer=layer)
        if inducing < 1:
            raise ValueError(f"inducing: expected at least 1, got {inducing}")
        self.sampled, self.seed, self.generator = sampled, seed, generator
        self.inducing = nn.Parameter(torch.empty(inducing, dim))
        nn.init.xavier_uniform_(self.inducing)
        width = self.heads * self.head_dim
        self.summary_query = nn.Linear(dim, width, bias=bias)
        self.summary_key = nn.Linear(dim, width, bias=bias)
        self.summary_value = nn.Linear(dim, width, bias=bias)
        self.summary_output = nn.Linear(width, dim, bias=bias)
        self.summary_feed_forward = FeedForward(dim, summary_hidden, bias=bias)

    @property
    def is_random(self) -> bool:
        """Whether the output depends on random points, which `seed` fixes in evaluation."""
        return self.sampled

    def mix(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None) -> Tensor:
        summary = self.summarise(x, sets.mask)
        key, value = self.split(self.key(summary)), self.split(self.value(summary))
        out: Tensor = self.output(read_all(self.split(self.query(x)), key, value, None, self.scale).flatten(2))
        return out

    def summarise(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """H = MAB(I, X): (sets, n, dim) -> (sets, inducing, dim)."""
        query = self.split(self.summary_query(self.inducing)).expand(x.shape[0], -1, -1, -1)
        if self.sampled:
            x = take(x[:, :, None], self.draw(x, mask)).squeeze(2)  # (sets, 2 * inducing, dim)
        key, value = self.split(self.summary_key(x)), self.split(self.summary_value(x))
        if self.sampled:
            (one_key, two_key), (one_value, two_value) = key.chunk(2, 1), value.chunk(2, 1)
            read = two_keys(query, one_key, one_value, two_key, two_value, self.scale)
        else:
            read = read_all(query, key, value, mask, self.scale)
        summary = self.inducing + self.summary_output(read.flatten(2))
        out: Tensor = summary + self.summary_feed_forward(summary)
        return out

    def draw(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """The two points that each inducing point reads, (sets or 1, 1, 2 * inducing); see `attention.pairs`."""
        rows, n, device = len(self.inducing), x.shape[1], x.device
        if not self.training:
            return pairs_from_seed((self.seed, self.layer), rows, n, mask=mask, device=device)
        sets = 1 if mask is None else len(x)
        return sample_pairs(rows, n, sets=sets, mask=mask, generator=self.generator, device=device)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, inducing={len(self.inducing)}, sampled={self.sampled}"
