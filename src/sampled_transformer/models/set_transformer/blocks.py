"""The blocks of the Set Transformer: MAB, SAB, ISAB and PMA (Lee et al. 2019, https://arxiv.org/abs/1810.00825).

They are the blocks of Lee et al.'s public code: the scale is 1 / sqrt(dim) with the full width dim, the residual starts
at the projected query, there is no LayerNorm, and only the ReLU layer mixes the heads.

The inducing points of ISAB and the seeds of PMA are parameters, the same queries q for all sets. We carry them through
the projection of the keys instead of projecting the points y: (W_q q).(W_k y) = (W_k^T W_q q).y, and the mean of W_v y
is W_v times the mean of y. The result is the same up to rounding and takes half the time. Forward hooks on `key` and
`value` of such a block never fire, as nothing calls these layers; their weights take part.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ...attention import create_attention
from ...attention.dense import read_all
from ...attention.pairs import pairs_from_seed, sample_pairs
from ...cycles import Cycles
from ...layers.sparse_gradient import Linear
from ...randomness import settle_keys
from ...sets import Sets
from .reading import average, average_of_dealt, average_of_two, dealt_mask

READINGS = ("all", "rows", "columns")
PAIRS = ("own", "shared")
SELF_ATTENTION = ("dense", "sampled", "sparse")


class MAB(nn.Module):
    """Multihead attention block (section 3.1 of Set Transformer): points X read points Y.

        O = W_q X + softmax(W_q X (W_k Y)^T / sqrt(dim)) W_v Y    per head
        MAB(X, Y) = O + ReLU(W_o O)

    Args:
        dim: width of the result.
        heads: number of heads.
        query_dim, key_dim: widths of X and Y (default: dim).
    """

    def __init__(self, dim: int, heads: int, *, query_dim: int | None = None, key_dim: int | None = None) -> None:
        super().__init__()
        if heads < 1 or dim < 1 or dim % heads:
            raise ValueError(f"heads: expected a divisor of dim={dim}, got {heads}")
        self.dim, self.heads = dim, heads
        self.query = Linear(query_dim or dim, dim)
        self.key = Linear(key_dim or dim, dim)
        self.value = Linear(key_dim or dim, dim)
        self.output = Linear(dim, dim)

    def forward(
        self,
        x: Tensor,
        y: Tensor,
        mask: Tensor | None = None,
        average: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> Tensor:
        """x (batch, queries, query_dim) reads y (batch, n, key_dim); mask (batch, n), True where y is real.

        With `average`, x (queries, query_dim) are queries that all sets share, see `summarise`.
        """
        if average is not None:
            return self.summarise(x, y, average)
        query = self.query(x)
        read = read_all(self.split(query), self.split(self.key(y)), self.split(self.value(y)), mask, self.dim**-0.5)
        return self.finish(query, read)

    def summarise(self, queries: Tensor, y: Tensor, average: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Queries (m, query_dim) that all sets share read y (batch, n, key_dim): (batch, m, dim).

        `average` is one of the functions in `reading`: it takes W_k^T W_q q of every query and head, (m, heads,
        key_dim), and y, and returns the weighted mean of the points that each reads, (batch, m, heads, key_dim).
        """
        query = self.query(queries)
        key, value = (layer.weight.unflatten(0, (self.heads, -1)) for layer in (self.key, self.value))
        folded = torch.einsum("mhe,hek->mhk", self.split(query), key) * self.dim**-0.5
        read = torch.einsum("bmhk,hek->bmhe", average(folded, y), value) + self.value.bias.view(self.heads, -1)
        # The bias of the keys moves all scores of a query alike, which no softmax sees; DDP expects it to take part.
        return self.finish(query, read + self.key.bias.sum() * 0)

    def finish(self, query: Tensor, read: Tensor) -> Tensor:
        """O + ReLU(W_o O), where O is the sum of the projected query and what the heads read."""
        out = query + read.flatten(-2)
        return out + torch.relu(self.output(out))

    def split(self, x: Tensor) -> Tensor:
        """(..., dim) -> (..., heads, dim / heads)."""
        parts: Tensor = x.unflatten(-1, (self.heads, self.dim // self.heads))
        return parts


class SAB(nn.Module):
    """Set attention block SAB(X) = MAB(X, X) (section 3.1 of Set Transformer), with a mechanism of this package.

    "dense" is the published block; "sampled" reads along a random cycle.

    Args:
        inputs: width of X.
        dim, heads: width of the result, number of heads.
        attention: "dense", "sampled" or "sparse".
        options: further options of the mechanism.
    """

    def __init__(self, inputs: int, dim: int, heads: int, attention: str = "dense", **options: Any) -> None:
        super().__init__()
        if attention not in SELF_ATTENTION:
            raise ValueError(f"attention: expected one of {', '.join(SELF_ATTENTION)}, got {attention!r}")
        self.attention = create_attention(attention, dim, heads, bias=True, scale=dim**-0.5, **options)
        if inputs != dim:
            self.attention.query, self.attention.key, self.attention.value = (Linear(inputs, dim) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        cycle: Cycles | None = None,
    ) -> Tensor:
        """(batch, n, inputs) -> (batch, n, dim), n at least 1. The output at the padding has no meaning.

        The mechanism walks the given cycles instead of drawn ones, if it walks any. In evaluation the cycles that it
        draws follow the positions (batch, n, coordinates), if there are any.
        """
        layer = self.attention
        query, key, value = layer.query(x), layer.key(x), layer.value(x)
        read = layer.attend(layer.split(query), layer.split(key), layer.split(value), positions, Sets(mask), cycle)
        out = query + read.flatten(2)
        result: Tensor = out + torch.relu(layer.output(out))
        return result


class ISAB(nn.Module):
    """Induced set attention block (Eq. 9 of Set Transformer): m learnable points I read the set, all points read the m.

        H = MAB(I, X)              m x n attention matrix
        ISAB(X) = MAB(X, H)        n x m attention matrix

    `reading="rows"` is the sampled ISAB of "Sampled Transformer for Point Sets" (appendices B.3 and C, Tables 7 and 8;
    https://openreview.net/forum?id=F7f4BYnDAIc), which keeps two random entries per row of the first matrix. The second
    step stays dense and costs O(n m), with a constant m.

    Args:
        inputs: width of X.
        dim, heads: width of the result, number of heads.
        inducing: number of inducing points, m.
        reading: which entries of the first matrix are kept. "all": Lee et al.'s block. "rows": each inducing point
            reads two random points, at most 2 m of the n. "columns": each point is read by `kept` inducing points, so
            that every point is read at a cost of O(n kept); the points must come in random order, see `SetEncoder`.
        kept: entries per column that "columns" keeps.
        pairs: who shares the random points of "rows". "own": in training, every set, head and inducing point draws its
            own two, as the attention matrix in Lee et al.'s code has a row for each of them; in evaluation, every head
            and inducing point. "shared": all heads, and all sets of a plain batch, read the same two.
        seed, generator, keyed_by: as in `SampledAttention`.
    """

    def __init__(
        self,
        inputs: int,
        dim: int,
        heads: int,
        *,
        inducing: int = 16,
        reading: str = "all",
        kept: int = 2,
        pairs: str = "own",
        seed: int = 0,
        generator: torch.Generator | None = None,
        keyed_by: str | None = None,
    ) -> None:
        super().__init__()
        if pairs not in PAIRS:
            raise ValueError(f"pairs: expected one of {', '.join(PAIRS)}, got {pairs!r}")
        if reading not in READINGS:
            raise ValueError(f"reading: expected one of {', '.join(READINGS)}, got {reading!r}")
        if inducing < 1:
            raise ValueError(f"inducing: expected at least 1, got {inducing}")
        if reading == "columns" and not 1 <= kept <= inducing:
            raise ValueError(f"kept: expected 1 to {inducing}, the number of inducing points, got {kept}")
        self.reading, self.kept, self.pairs = reading, kept, pairs
        self.seed, self.layer, self.generator, self.keyed_by = seed, 0, generator, settle_keys(keyed_by)
        self.inducing = learnable_points(inducing, dim)
        self.mab0 = MAB(dim, heads, key_dim=inputs)
        self.mab1 = MAB(dim, heads, query_dim=inputs)

    @property
    def is_random(self) -> bool:
        """Whether the output depends on random points or on a random order of the points."""
        return self.reading != "all"

    def forward(self, x: Tensor, mask: Tensor | None = None, positions: Tensor | None = None) -> Tensor:
        """(batch, n, inputs) -> (batch, n, dim), n at least 1; `positions` as in `SAB`."""
        out: Tensor = self.mab1(x, self.mab0(self.inducing, x, average=self.averaging(x, mask, positions)))
        return out

    def averaging(
        self, x: Tensor, mask: Tensor | None, positions: Tensor | None = None
    ) -> Callable[[Tensor, Tensor], Tensor]:
        """The function of `reading` that this block uses, with all but queries and points filled in."""
        if self.reading == "rows":
            return partial(average_of_two, drawn=self.draw(x, mask, positions))
        if self.reading == "all":
            return partial(average, allowed=None if mask is None else mask[:, None])
        if mask is None:
            return partial(average_of_dealt, kept=self.kept)
        return partial(average, allowed=dealt_mask(mask, len(self.inducing), self.kept))

    def draw(self, x: Tensor, mask: Tensor | None, positions: Tensor | None = None) -> Tensor:
        """The two points each inducing point reads, (batch or 1, heads or 1, 2 m); see `attention.pairs`."""
        rows, n, device, own = len(self.inducing), x.shape[1], x.device, self.pairs == "own"
        heads = self.mab0.heads if own else 1
        if not self.training:
            points = positions if self.keyed_by == "points" else None
            return pairs_from_seed(
                (self.seed, self.layer), rows, n, heads=heads, mask=mask, device=device, points=points
            )
        sets = len(x) if own or mask is not None else 1
        return sample_pairs(rows, n, sets=sets, heads=heads, mask=mask, generator=self.generator, device=device)

    def extra_repr(self) -> str:
        more = {"rows": f", pairs={self.pairs}", "columns": f", kept={self.kept}"}.get(self.reading, "")
        return f"inducing={len(self.inducing)}, reading={self.reading}{more}, layer={self.layer}"


class PMA(nn.Module):
    """Pooling by multihead attention PMA(X) = MAB(S, X) (section 3.2 of Set Transformer): k learnable seeds S read X.

    As in Lee et al.'s code, X is not passed through a feed-forward layer first.

    Args:
        dim, heads: width of X and of the result, number of heads.
        seeds: number of seeds, k.
    """

    def __init__(self, dim: int, heads: int, seeds: int) -> None:
        super().__init__()
        if seeds < 1:
            raise ValueError(f"seeds: expected at least 1, got {seeds}")
        self.seeds = learnable_points(seeds, dim)
        self.mab = MAB(dim, heads)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, n, dim) -> (batch, seeds, dim)."""
        allowed = None if mask is None else mask[:, None]
        out: Tensor = self.mab(self.seeds, x, average=partial(average, allowed=allowed))
        return out


def learnable_points(count: int, dim: int) -> nn.Parameter:
    """Inducing points or seeds (count, dim), uniform in +-sqrt(6 / (count dim + dim)), as Lee et al. fill them.

    They apply Xavier initialisation to a tensor (1, count, dim), which gives smaller values than in a matrix.
    """
    points = torch.empty(1, count, dim)
    nn.init.xavier_uniform_(points)
    return nn.Parameter(points[0].clone())
