"""Set Transformer (Lee et al. 2019; paper appendix B.3) with dense and sampled attention: blocks and classifier.

The blocks are those of the public code of Lee et al.: the scale is 1 / sqrt(dim) and not that of a head, the residual
starts at the projected query, there is no LayerNorm and no projection of the heads but the ReLU layer's.

Queries that are parameters, the inducing points and the seeds, are the same for all sets, and are carried through the
keys' projection instead of the points: (W_q q).(W_k y) = (W_k^T W_q q).y, and the mean of W_v y is W_v of the mean.
The result is the same to rounding, and the points are read as they are, at half the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from ..attention import create_attention
from ..attention.dense import read_all
from ..attention.induced import _two_different
from ..attention.kernels import take, two_keys
from ..cycles import Cycle, random_integers, real_first, seeded_keys
from ..layers.sparse_gradient import Linear
from ..sets import Sets, buckets, check_points, pad_sets

READINGS = ("all", "rows", "columns")
PAIRS = ("own", "shared")
SELF_ATTENTION = ("dense", "sampled", "sparse")


class MAB(nn.Module):
    """Multihead attention block: points X read points Y.

        O = W_q X + softmax(W_q X (W_k Y)^T / sqrt(dim)) W_v Y    in each head
        MAB(X, Y) = O + ReLU(W_o O)

    Args:
        dim: width of the result.
        heads: number of heads.
        query_dim, key_dim: widths of X and Y; dim if not given.
    """

    def __init__(self, dim: int, heads: int, *, query_dim: int | None = None, key_dim: int | None = None) -> None:
        super().__init__()
        check_heads(dim, heads)
        self.dim, self.heads = dim, heads
        self.query = Linear(query_dim or dim, dim)
        self.key = Linear(key_dim or dim, dim)
        self.value = Linear(key_dim or dim, dim)
        self.output = Linear(dim, dim)

    def forward(self, x: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """x (batch, queries, query_dim) reads y (batch, n, key_dim); mask (batch, n), True where y is real."""
        query = self.query(x)
        read = read_all(self.split(query), self.split(self.key(y)), self.split(self.value(y)), mask, self.dim**-0.5)
        return self.finish(query, read)

    def summarise(self, queries: Tensor, y: Tensor, average: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        """Queries (m, query_dim) that all sets share read y (batch, n, key_dim): (batch, m, dim).

        `average` takes the queries as they meet y, (m, heads, key_dim), and y, and gives each one's weighted mean of
        points, (batch, m, heads, key_dim).
        """
        query = self.query(queries)
        key, value = (layer.weight.unflatten(0, (self.heads, -1)) for layer in (self.key, self.value))
        folded = torch.einsum("mhe,hek->mhk", self.split(query), key) * self.dim**-0.5
        read = torch.einsum("bmhk,hek->bmhe", average(folded, y), value) + self.value.bias.view(self.heads, -1)
        # The keys' bias moves all scores of a query alike, which no softmax sees; DDP expects it to take part.
        return self.finish(query, read + self.key.bias.sum() * 0)

    def finish(self, query: Tensor, read: Tensor) -> Tensor:
        out = query + read.flatten(-2)
        return out + torch.relu(self.output(out))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, self.dim // self.heads))


class SAB(nn.Module):
    """Set attention block MAB(X, X) around the project's own attention: "dense" as published, "sampled" on a cycle.

    Args:
        inputs: width of X.
        dim, heads: width of the result, number of heads.
        attention: a mechanism from every point to points of the same set that needs no positions.
        options: further options of the mechanism.
    """

    def __init__(self, inputs: int, dim: int, heads: int, attention: str = "dense", **options: Any) -> None:
        super().__init__()
        if attention not in SELF_ATTENTION:
            raise ValueError(f"attention: expected one of {', '.join(SELF_ATTENTION)}, got {attention!r}")
        self.attention = create_attention(attention, dim, heads, bias=True, scale=dim**-0.5, **options)
        if inputs != dim:
            self.attention.query, self.attention.key, self.attention.value = (Linear(inputs, dim) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, n, inputs) -> (batch, n, dim); n at least 1. What the output holds in the padding means nothing."""
        layer = self.attention
        query, key, value = layer.query(x), layer.key(x), layer.value(x)
        read = layer.attend(layer.split(query), layer.split(key), layer.split(value), None, Sets(mask), None)
        out = query + read.flatten(2)
        return out + torch.relu(layer.output(out))


class ISAB(nn.Module):
    """Induced set attention block MAB(X, MAB(I, X)): m learnable points read the set, every point reads the m (Eq. 9).

    Args:
        inputs: width of X.
        dim, heads: width of the result, number of heads.
        inducing: m.
        reading: which entries of the m x n matrix of the first step are kept. "all" is Lee et al.'s block. "rows" is
            the paper's sampled form: each inducing point reads two random points, 2 m of the n in all. "columns": each
            point is read by `kept` inducing points, so that every point is read at a cost of n * kept. The points
            must then come in random order, see `SetEncoder`.
        kept: entries that "columns" keeps of each column.
        pairs: who shares the random points of "rows". "own": in training every inducing point draws its two for each
            set and each head, as the attention matrix of Lee et al.'s code has a row for each of them; in evaluation
            for each head. "shared": heads, and the sets of a plain batch, read the same two.
        seed, generator: as in `SampledAttention`.

    The second step stays dense: it costs O(n m), with a constant m.
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
    ) -> None:
        super().__init__()
        if pairs not in PAIRS:
            raise ValueError(f"pairs: expected own or shared, got {pairs!r}")
        if reading not in READINGS:
            raise ValueError(f"reading: expected one of {', '.join(READINGS)}, got {reading!r}")
        if inducing < 1:
            raise ValueError(f"inducing: expected at least 1 point, got {inducing}")
        if reading == "columns" and not 1 <= kept <= inducing:
            raise ValueError(f"kept: expected 1 to {inducing}, the number of inducing points, got {kept}")
        self.reading, self.kept, self.pairs = reading, kept, pairs
        self.seed, self.layer, self.generator = seed, 0, generator
        self.inducing = learnable_points(inducing, dim)
        self.mab0 = MAB(dim, heads, key_dim=inputs)
        self.mab1 = MAB(dim, heads, query_dim=inputs)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, n, inputs) -> (batch, n, dim); n at least 1."""
        return self.mab1(x, self.mab0.summarise(self.inducing, x, self.averaging(x, mask)))

    @property
    def is_random(self) -> bool:
        return self.reading != "all"

    def averaging(self, x: Tensor, mask: Tensor | None) -> Callable[[Tensor, Tensor], Tensor]:
        count = self.inducing.shape[0]
        if self.reading == "rows":
            return partial(average_of_two, drawn=self.draw(x, mask))
        if self.reading == "all":
            return partial(average, allowed=None if mask is None else mask[:, None])
        if mask is None:
            return partial(average_of_dealt, kept=self.kept)
        return partial(average, allowed=dealt_mask(mask, count, self.kept))

    def draw(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Two different real points for each inducing point, (batch or 1, heads or 1, 2 m); one twice if alone."""
        count, own = self.inducing.shape[0], self.pairs == "own"
        heads = self.mab0.heads if own else 1
        if self.training:
            sets = len(x) if own or mask is not None else 1
            chance = random_integers(1 << 32, (sets, heads, 2 * count), self.generator, x.device)
        else:
            chance = seeded_keys((self.seed, self.layer), heads, torch.arange(2 * count, device=x.device))[None]
        if mask is None:
            return _two_different(chance, torch.full((), x.shape[1], device=x.device))
        rank = _two_different(chance, mask.sum(1)[:, None, None].clamp(min=1))
        return real_first(mask)[:, None].expand(-1, heads, -1).gather(2, rank)

    def extra_repr(self) -> str:
        more = {"rows": f", pairs={self.pairs}", "columns": f", kept={self.kept}"}.get(self.reading, "")
        return f"inducing={self.inducing.shape[0]}, reading={self.reading}{more}, layer={self.layer}"


class PMA(nn.Module):
    """Pooling by multihead attention MAB(S, X): k learnable seeds read the set."""

    def __init__(self, dim: int, heads: int, seeds: int) -> None:
        super().__init__()
        if seeds < 1:
            raise ValueError(f"seeds: expected at least 1, got {seeds}")
        self.seeds = learnable_points(seeds, dim)
        self.mab = MAB(dim, heads)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, n, dim) -> (batch, seeds, dim)."""
        allowed = None if mask is None else mask[:, None]
        return self.mab.summarise(self.seeds, x, partial(average, allowed=allowed))


def average(queries: Tensor, y: Tensor, allowed: Tensor | None = None) -> Tensor:
    """The mean of y (batch, n, dim) for every query (m, heads, dim), weighted by softmax: (batch, m, heads, dim).

    `allowed` (batch, m or 1, n) says which points a query reads; one that may read none gets some finite mean.
    """
    score = torch.matmul(queries.flatten(0, 1), y.transpose(1, 2)).unflatten(1, queries.shape[:2])
    if allowed is not None:
        allowed = allowed | ~allowed.any(-1, keepdim=True)
        score = score.masked_fill(~allowed[:, :, None], -torch.inf)
    return torch.matmul(score.softmax(-1).flatten(1, 2), y).unflatten(1, queries.shape[:2])


def average_of_two(queries: Tensor, y: Tensor, drawn: Tensor) -> Tensor:
    """As `average`, where each query reads two points only.

    drawn (batch or 1, heads or 1, 2 m), the first ones first. The heads share y, and no more of it is read than drawn.
    """
    rows = take(y[:, :, None], drawn.transpose(1, 2).flatten(1)[:, None])  # (batch, 2 m * (heads or 1), 1, dim)
    one, two = rows.unflatten(1, (drawn.shape[2], drawn.shape[1])).squeeze(3).chunk(2, 1)  # (batch, m, heads or 1, dim)
    return two_keys(queries, one, one, two, two, 1.0)


def average_of_dealt(queries: Tensor, y: Tensor, kept: int) -> Tensor:
    """As `average` with `dealt_mask`, reading only the entries that are kept: O(n kept).

    The points are cut into m heaps of equal size. Heap a is read by the queries a, a - 1, ..., a - kept + 1, counted
    in a circle, and the fewer than m points that are left over by all queries.
    """
    count, size = queries.shape[0], y.shape[1] // queries.shape[0]
    heaps = y[:, : count * size].unflatten(1, (count, size)).contiguous()  # once, not in each product
    rest = y[:, count * size :]
    turned = torch.stack([queries.roll(turn, 0) for turn in range(kept)], 1)  # (m, kept, heads, dim): heap a, a - turn
    score = torch.matmul(turned.flatten(1, 2), heaps.transpose(2, 3)).unflatten(2, turned.shape[1:3])
    own = [score[:, :, turn].roll(-turn, 1) for turn in range(kept)]  # (batch, m, heads, size), by query
    left = torch.matmul(queries.flatten(0, 1), rest.transpose(1, 2)).unflatten(1, queries.shape[:2])
    *weights, weight = torch.cat([*own, left], -1).softmax(-1).split([size] * kept + [rest.shape[1]], -1)
    by_heap = torch.stack([part.roll(turn, 1) for turn, part in enumerate(weights)], 2)
    means = torch.matmul(by_heap.flatten(2, 3), heaps).unflatten(2, by_heap.shape[2:4])
    total = torch.matmul(weight.flatten(1, 2), rest).unflatten(1, queries.shape[:2])
    for turn in range(kept):
        total = total + means[:, :, turn].roll(-turn, 1)
    return total


def dealt_mask(mask: Tensor, count: int, kept: int) -> Tensor:
    """Which points each of `count` queries reads, (batch, count, n), in padded sets whose real points come first."""
    size = mask.sum(1)[:, None] // count  # (batch, 1)
    place = torch.arange(mask.shape[1], device=mask.device)
    heap = place // size.clamp(min=1)
    query = torch.arange(count, device=mask.device)[:, None]
    read = (heap[:, None] - query) % count < kept
    return (read | (place >= size * count)[:, None]) & mask[:, None]


class SetEncoder(nn.Module):
    """Blocks over the points, then PMA: (batch, n, inputs) -> (batch, seeds, dim).

    Args:
        inputs: width of the points.
        dim, heads: width and heads of all blocks.
        depth: blocks before the pooling.
        seeds: rows of the result.
        attention: "induced" for ISAB; "dense", "sampled" or "sparse" for SAB.
        dropout: share of the features dropped before the pooling, in training.
        seed, generator: of the order in which points are dealt to the inducing points.
        options: further options of the block.
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
        self.inputs, self.seed, self.generator = inputs, seed, generator
        widths = [inputs] + [dim] * (depth - 1)
        self.blocks = nn.ModuleList(
            ISAB(width, dim, heads, **options)
            if attention == "induced"
            else SAB(width, dim, heads, attention, **options)
            for width in widths
        )
        self.dropout = nn.Dropout(dropout)
        self.pool = PMA(dim, heads, seeds)
        self.shuffles = any(getattr(block, "reading", "") == "columns" for block in self.blocks)
        layers: list[Any] = [module for module in self.modules() if hasattr(module, "layer")]
        for number, layer in enumerate(layers):  # layers of one number would read the same random points
            layer.layer = number

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        if points.shape[1] == 0:  # one point of padding, as an empty set among others has
            points = points.new_zeros(len(points), 1, self.inputs)
            mask = torch.zeros(points.shape[:2], dtype=torch.bool, device=points.device)
        x, mask = self.shuffle(points, mask) if self.shuffles else (points, mask)
        for block in self.blocks:
            x = block(x, mask)
        return self.pool(self.dropout(x), mask)

    @property
    def is_random(self) -> bool:
        return self.shuffles

    def shuffle(self, points: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """The points in the order of a cycle, the padding last: here they are narrow, and no result depends on order.

        As everywhere, training draws a fresh order, and in evaluation it follows from the size of the set.
        """
        n, device = points.shape[1], points.device
        if self.training:
            cycle = Cycle.sample(n, 1, self.generator, device, mask=mask)
        else:
            cycle = Cycle.from_seed((self.seed,), n, 1, device, mask=mask)
        order = cycle.with_batch(cycle.order)  # (batch or 1, 1, n)
        shuffled = take(points[:, :, None], order.clamp(min=0)).squeeze(2)
        return shuffled, None if mask is None else order[:, 0] >= 0


def in_any_form(
    read: Callable[[Tensor, Tensor | None], Tensor],
    points: Tensor,
    mask: Tensor | None,
    ptr: Tensor | None,
) -> Tensor:
    """One row a set from `read(points, mask)`, also for packed points: padded in groups of similar size."""
    points, ptr = check_points(points, "points", mask, ptr)
    if ptr is None:
        return read(points, mask)
    groups = list(buckets(ptr))
    if not groups:
        return read(points.new_zeros(0, 1, points.shape[-1]), None)
    rows = [read(*pad_sets(points, ptr, sets)) for sets in groups]
    return torch.cat(rows)[torch.cat(groups).argsort()]


class SetTransformer(nn.Module):
    """Classification in the setting of Lee et al. (appendix B.3): ISAB_16(256) twice, PMA_1, one linear layer.

    Args:
        classes: number of classes.
        attention: "induced", or "dense", "sampled" or "sparse" self-attention over the points.
        dim, heads, depth: of the blocks.
        normals: whether normals are given, as further features of a point; Lee et al. use none.
        dropout: before and after the pooling.
        attention_options: further options of the blocks, such as reading="rows" for the paper's sampled form.
    """

    def __init__(
        self,
        classes: int,
        *,
        attention: str = "induced",
        dim: int = 256,
        heads: int = 4,
        depth: int = 2,
        normals: bool = False,
        dropout: float = 0.5,
        attention_options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if classes < 1:
            raise ValueError(f"classes: expected at least 1, got {classes}")
        self.normals = normals
        options = dict(attention_options or {})
        self.encoder = SetEncoder(3 + 3 * normals, dim, heads, depth, 1, attention, dropout=dropout, **options)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(dim, classes)

    def forward(
        self,
        points: Tensor,
        normals: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Tensor | None = None,
    ) -> Tensor:
        """Logits (sets, classes) of points (batch, n, 3), padded with `mask`, or packed (total, 3) with `ptr`."""
        if (normals is not None) != self.normals:
            expected = "those of the points" if self.normals else "none, as the network was built without"
            raise ValueError(f"normals: expected {expected}")
        features = points if normals is None else torch.cat([points, normals], -1)
        check_width(features, self.encoder.inputs)
        pooled = in_any_form(self.encoder, features, mask, ptr)
        return self.head(self.dropout(pooled.squeeze(1)))


def check_heads(dim: int, heads: int) -> None:
    if heads < 1 or dim < 1 or dim % heads:
        raise ValueError(f"heads: expected a divisor of dim={dim}, got {heads}")


def check_width(points: Tensor, width: int) -> None:
    if points.shape[-1] != width:
        raise ValueError(f"points: expected {width} coordinates, those of the network, got {points.shape[-1]}")


def learnable_points(count: int, dim: int) -> nn.Parameter:
    """Xavier-uniform as a tensor (1, count, dim), as Lee et al. fill it: smaller values than in a matrix."""
    points = torch.empty(1, count, dim)
    nn.init.xavier_uniform_(points)
    return nn.Parameter(points[0].clone())
