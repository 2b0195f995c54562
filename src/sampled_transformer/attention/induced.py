"""Attention through inducing points (Set Transformer), and the paper's sampled form of it (appendix B.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..cycles import Cycles
from ..layers.feed_forward import FeedForward
from ..randomness import settle_keys
from ..sets import Sets
from .attended import AllKeys, FewKeys, Points, Weights, all_weights, check_fits, few_weights
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
        dropout: of the weights with which the points read the summaries. Those with which the inducing points read
            the set stay: a feed-forward layer follows them, so that dropout would change the expected output.
        inducing: number of inducing points, m.
        sampled: the paper's sampled form: every inducing point reads two random points instead of all n. All heads,
            and in training all sets of a plain batch, share them. Training draws new ones in every call; in evaluation
            they follow from the positions, the seed and the layer, or without positions from the size of the set, the
            seed and the layer. The second step, in which the points read m summaries, stays the same.
        summary_hidden: width of W_1 (default: dim).
        seed, generator, keyed_by: as in `SampledAttention`.
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
        keyed_by: str | None = None,
        head_dim: int | None = None,
        bias: bool = False,
        scale: float | None = None,
        layer: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__(dim, heads, head_dim=head_dim, bias=bias, scale=scale, layer=layer, dropout=dropout)
        if inducing < 1:
            raise ValueError(f"inducing: expected at least 1, got {inducing}")
        self.sampled, self.seed, self.generator = sampled, seed, generator
        self.keyed_by = settle_keys(keyed_by)
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
        drawn = self.draw(x, sets.mask, positions) if self.sampled else None
        return self.read_summary(x, self.summarise(x, sets.mask, drawn))

    def read(
        self, asking: Points, answering: Points, cycle: Cycles | None, need_weights: bool
    ) -> tuple[Tensor, Weights | None]:
        """With a context, the inducing points read the context, and the queries read the summaries.

        The weights are A_ij = sum_a w_ia mean_h(u_aj): the queries' weights w_ia of each head over the inducing points
        times the inducing points' u_aj over the set, whose heads every summary joins.
        """
        drawn = self.draw(answering.x, answering.mask, answering.positions) if self.sampled else None
        summary = self.summarise(answering.x, answering.mask, drawn)
        if not need_weights:
            return self.read_summary(asking.x, summary), None
        query, key = self.split(self.query(asking.x)), self.split(self.key(summary))
        second = AllKeys(self.drop(all_weights(query, key, None, self.scale)))  # (batch, heads, queries, inducing)
        out = self.output(second.apply(self.split(self.value(summary))).flatten(2))
        return out, self.through(second.weight, answering, drawn)

    def through(self, second: Tensor, answering: Points, drawn: Tensor | None) -> Weights:
        """The product of the two maps, where both are the queries' weights `second` and the inducing points' own."""
        batch, heads, queries, count = second.shape
        inducing = self.split(self.summary_query(self.inducing)).expand(batch, -1, -1, -1)
        key = self.split(self.summary_key(answering.x))
        if drawn is None:
            check_fits(batch, queries, key.shape[1], heads, second.element_size())
            first = all_weights(inducing, key, answering.mask, self.scale).mean(1, keepdim=True)
            return AllKeys(second @ first)
        index = drawn.unflatten(2, (2, count)).transpose(2, 3)  # (sets or 1, 1, inducing, 2)
        first = few_weights(inducing, key, index, self.scale).mean(3)  # (batch, inducing, 2)
        weight = (second[..., None] * first[:, None, None]).flatten(3)  # (batch, heads, queries, 2 * inducing)
        read = index.flatten(2)[:, :, None].expand(-1, -1, queries, -1)
        return FewKeys(read, weight.permute(0, 2, 3, 1))

    def context_refusal(self, cycle: Cycles | None) -> None:
        return None

    def read_summary(self, x: Tensor, summary: Tensor) -> Tensor:
        """The points x read the summaries."""
        key, value = self.split(self.key(summary)), self.split(self.value(summary))
        read = read_all(self.split(self.query(x)), key, value, None, self.scale, self.dropping)
        out: Tensor = self.output(read.flatten(2))
        return out

    def summarise(self, x: Tensor, mask: Tensor | None, drawn: Tensor | None = None) -> Tensor:
        """H = MAB(I, X): (sets, n, dim) -> (sets, inducing, dim); `drawn` are the points of the sampled form."""
        query = self.split(self.summary_query(self.inducing)).expand(x.shape[0], -1, -1, -1)
        if self.sampled:
            x = take(x[:, :, None], self.draw(x, mask) if drawn is None else drawn).squeeze(2)  # (sets, 2 m, dim)
        key, value = self.split(self.summary_key(x)), self.split(self.summary_value(x))
        if self.sampled:
            (one_key, two_key), (one_value, two_value) = key.chunk(2, 1), value.chunk(2, 1)
            read = two_keys(query, one_key, one_value, two_key, two_value, self.scale)
        else:
            read = read_all(query, key, value, mask, self.scale)
        summary = self.inducing + self.summary_output(read.flatten(2))
        out: Tensor = summary + self.summary_feed_forward(summary)
        return out

    def draw(self, x: Tensor, mask: Tensor | None, positions: Tensor | None = None) -> Tensor:
        """The two points that each inducing point reads, (sets or 1, 1, 2 * inducing); see `attention.pairs`."""
        rows, n, device = len(self.inducing), x.shape[1], x.device
        if not self.training:
            points = positions if self.keyed_by == "points" else None
            return pairs_from_seed((self.seed, self.layer), rows, n, mask=mask, device=device, points=points)
        sets = 1 if mask is None else len(x)
        return sample_pairs(rows, n, sets=sets, mask=mask, generator=self.generator, device=device)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, inducing={len(self.inducing)}, sampled={self.sampled}"
