"""Attention through inducing points (Lee et al. 2019, Eq. 9), and the paper's sampled form of it (appendix B.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..cycles import Cycle, random_integers, real_first, seeded_keys
from ..layers.feed_forward import FeedForward
from ..sets import Sets
from .base import Attention
from .dense import read_all
from .kernels import take, two_keys


class InducedAttention(Attention):
    """m learnable points read the set, then every point reads the m summaries: O(n m).

    With the residual and the feed-forward layer of a block around it this is ISAB = MAB(X, MAB(I, X)), in the form
    of Eq. 1: the inner MAB has a residual and a ReLU feed-forward layer too.

    Args:
        inducing: m, the number of inducing points.
        sampled: let every inducing point read two random points instead of all (appendix B.3): the same two for all
            sets of a plain batch, redrawn at each call of training, fixed by size, seed and layer in evaluation. The
            second step, in which the points read m summaries, stays as it is.
        summary_hidden: width of the inner feed-forward layer; dim if not given.
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
            raise ValueError(f"inducing: expected at least 1 point, got {inducing}")
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
        return self.sampled

    def mix(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None) -> Tensor:
        summary = self.summarise(x, sets.mask)
        key, value = self.split(self.key(summary)), self.split(self.value(summary))
        return self.output(read_all(self.split(self.query(x)), key, value, None, self.scale).flatten(2))

    def summarise(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """MAB(I, X): (sets, n, dim) -> (sets, inducing, dim)."""
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
        return summary + self.summary_feed_forward(summary)

    def draw(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Two different real points for each inducing point, (sets or 1, 1, 2 * inducing); one twice if it is alone."""
        count = self.inducing.shape[0]
        if not self.training:
            index = torch.arange(2 * count, device=x.device)
            chance = seeded_keys((self.seed, self.layer), 1, index)[None]
        else:
            shape = (1 if mask is None else x.shape[0], 1, 2 * count)
            chance = random_integers(1 << 32, shape, self.generator, x.device)
        if mask is None:
            return _two_different(chance, torch.full((), x.shape[1], device=x.device))
        rank = _two_different(chance, mask.sum(1)[:, None, None].clamp(min=1))
        return real_first(mask)[:, None].gather(2, rank)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, inducing={self.inducing.shape[0]}, sampled={self.sampled}"


def _two_different(chance: Tensor, size: Tensor) -> Tensor:
    """Turn random numbers of 32 bits, two halves of a row, into pairs of different places below `size`."""
    one, two = chance.chunk(2, -1)
    one = (one * size) >> 32
    two = (one + 1 + ((two * (size - 1)) >> 32)) % size
    return torch.cat(torch.broadcast_tensors(one, two), -1)
