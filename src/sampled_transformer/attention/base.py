"""The contract that every mechanism keeps: the same arguments, the same call, the same four projections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Never, TypedDict, overload

import torch
from torch import Tensor, nn

from ..cycles import Cycles, each
from ..geometry.tracing import never_compiled
from ..layers.sparse_gradient import Linear
from ..sets import (
    Integers,
    Sets,
    any_nested,
    buckets,
    check_device,
    check_finite,
    check_mask,
    check_ptr,
    describe,
    pad_sets,
    refuse_foreign,
    restore_form,
    settle_form,
    warn_of_padding_alone,
)
from .across import attend_in_general, check_context
from .attended import AttentionPairs, Points, Weights


class Projections(TypedDict, total=False):
    """The options that all mechanisms share; `Attention` describes them."""

    head_dim: int | None
    bias: bool
    scale: float | None
    layer: int
    dropout: float


class Attention(nn.Module):
    """Multi-head attention from every point of a set to points of the same set, or of another one (`context`).

    `forward` checks its arguments and settles what padding means. A mechanism fills in `attend` (Eq. 1a, 5a), or `mix`
    where the projections themselves differ. The residual connection belongs to the block around it. Calls with a
    context go through `read` to `across`, and calls that return their weights to `weigh`.

    Args:
        dim: width of the points' features.
        heads: number of heads.
        head_dim: width of a head (default: dim / heads).
        bias: give the projections a bias (Eq. 1 and 5 have none).
        scale: factor of the scores before the softmax (default: 1 / sqrt(head_dim); 1.0 is Eq. 1 and 5 as written).
        layer: number of the layer in its network; layers of one network should differ in it (see `number_layers`).
        dropout: p, the share of attention weights set to zero in training, each by itself; the others are divided by
            1 - p, as in torch, so that the expected output stays the same. Mechanisms that read sums (linear, rotary,
            summed, estimated with rest="linear") have no weights of single pairs: they drop points from the sums, each
            point for all its readers in a head at once. Cycles have their own source of chance, `generator`; dropout
            uses torch's global one.
    """

    needs_positions = False
    takes_packed = False  # whether `mix` understands Sets.ptr; the others get packed sets as padded batches

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        head_dim: int | None = None,
        bias: bool = False,
        scale: float | None = None,
        layer: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if dim < 1 or heads < 1:
            raise ValueError(f"dim, heads: expected at least 1, got {dim} and {heads}")
        if head_dim is None and dim % heads:
            raise ValueError(f"heads: expected a divisor of dim={dim}, got {heads} (or give head_dim)")
        if head_dim is not None and head_dim < 1:
            raise ValueError(f"head_dim: expected at least 1, got {head_dim}")
        self.dim, self.heads, self.layer = dim, heads, layer
        self.head_dim = head_dim or dim // heads
        if scale is not None and not math.isfinite(scale):
            raise ValueError(f"scale: expected a finite factor, got {scale}")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout: expected a share from 0 to below 1, got {dropout}")
        # As ratios of integers: torch.compile takes a float attribute for an input that changes.
        self._scale = float(self.head_dim**-0.5 if scale is None else scale).as_integer_ratio()
        self._dropout = float(dropout).as_integer_ratio()
        self._build(bias)

    @property
    def is_random(self) -> bool:
        """Whether the output depends on chance: on fresh draws in training, on a seed in evaluation."""
        return False

    @property
    def scale(self) -> float:
        """The factor of the scores before the softmax."""
        return self._scale[0] / self._scale[1]

    @property
    def dropout(self) -> float:
        """The share of attention weights dropped in training."""
        return self._dropout[0] / self._dropout[1]

    @property
    def dropping(self) -> float:
        """The share dropped in this pass: `dropout` in training, 0 in evaluation."""
        return self.dropout if self.training else 0.0

    @property
    def takes_context(self) -> bool:
        """Whether the call takes a `context` to read."""
        return self.context_refusal(None) is None

    def _build(self, bias: bool) -> None:
        """Create the parameters: W_Q, W_K, W_V and W_O, the same for all mechanisms that share weights."""
        inner = self.heads * self.head_dim
        self.query = Linear(self.dim, inner, bias=bias)
        self.key = Linear(self.dim, inner, bias=bias)
        self.value = Linear(self.dim, inner, bias=bias)
        self.output = Linear(inner, self.dim, bias=bias)

    @overload
    def forward(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        cycle: Cycles | None = None,
        *,
        context: Tensor | None = None,
        context_positions: Tensor | None = None,
        context_mask: Tensor | None = None,
        context_ptr: Integers | None = None,
        context_batch: Integers | None = None,
        context_batch_size: int | None = None,
        batch: Integers | None = None,
        batch_size: int | None = None,
        need_weights: Literal[False] = False,
        **foreign: Never,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        cycle: Cycles | None = None,
        *,
        context: Tensor | None = None,
        context_positions: Tensor | None = None,
        context_mask: Tensor | None = None,
        context_ptr: Integers | None = None,
        context_batch: Integers | None = None,
        context_batch_size: int | None = None,
        batch: Integers | None = None,
        batch_size: int | None = None,
        need_weights: Literal[True],
        **foreign: Never,
    ) -> tuple[Tensor, AttentionPairs]: ...

    def forward(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        cycle: Cycles | None = None,
        *,
        context: Tensor | None = None,
        context_positions: Tensor | None = None,
        context_mask: Tensor | None = None,
        context_ptr: Integers | None = None,
        context_batch: Integers | None = None,
        context_batch_size: int | None = None,
        batch: Integers | None = None,
        batch_size: int | None = None,
        need_weights: bool = False,
        **foreign: Never,
    ) -> Tensor | tuple[Tensor, AttentionPairs]:
        """Attend within each set, or from each set to its context.

        Args:
            x: features, (batch, n, dim), or packed (total, dim) with `ptr` or `batch`, or nested.
            positions: coordinates, (batch, n, coordinates) or packed (total, coordinates), or nested as x.
            mask: (batch, n), True where a point is real. The padding's content never matters; its output is zero.
            ptr: (sets + 1,), where each packed set begins and the last one ends; a tensor, list or numpy array.
            cycle: the cycle to walk instead of a drawn one, or several, whose results are averaged (mechanisms without
                cycles ignore it).
            context: the sets that give keys and values, as many as x has, of the same width; x asks. Each may be
                plain or padded, or both are packed or nested. Queries of an empty context get zeros.
            context_positions, context_mask, context_ptr, context_batch, context_batch_size: as for x.
            batch: (total,), the number of each point's set in ascending order, as in PyTorch Geometric, instead of ptr.
            batch_size: number of sets in `batch`; a GPU need not wait if it is given.
            need_weights: return (output, `AttentionPairs`): whom each point attended to in this very pass. It writes
                the weights out, so that its cost is that of the pairs: n^2 where a mechanism reads all points.
            foreign: none; masks of other libraries are refused by name.
        """
        refuse_foreign(foreign, "Attention.forward()")
        counts = (batch, batch_size, context_batch, context_batch_size)
        if any(count is not None for count in counts) or any_nested(x, positions, context, context_positions):
            (rows, places), ptr = settle_form({"x": x, "positions": positions}, mask, ptr, batch, batch_size)
            points = {"context": context, "context_positions": context_positions}
            if context is not None or context_batch is not None:
                if context_batch is not None and context_batch_size is None and ptr is not None:
                    context_batch_size = len(ptr) - 1  # there are as many contexts as sets, the empty ones included
                given = context_mask, context_ptr, context_batch, context_batch_size
                (context, context_positions), context_ptr = settle_form(points, *given, "context_")
            reading: dict[str, Any] = {"context_positions": context_positions, "context_mask": context_mask}
            reading |= {"context": context, "context_ptr": context_ptr, "need_weights": need_weights}
            out: Any = self.forward(rows, places, mask, ptr, cycle, **reading)
            return (restore_form(out[0], x), out[1]) if need_weights else restore_form(out, x)
        positions, ptr = self.check(x, positions, mask, ptr)
        sets = Sets(mask, ptr)
        if need_weights or any(part is not None for part in (context, context_positions, context_mask, context_ptr)):
            other = check_context(self, x, sets, cycle, context, context_positions, context_mask, context_ptr)
            cycle = self.fit(cycle, x, sets)
            out, pairs = attend_in_general(self, (x, positions, sets), other, cycle, need_weights)
            return out if pairs is None else (out, pairs)
        cycle = self.fit(cycle, x, sets)
        if x.numel() == 0:  # no point attends, but autograd and DDP expect every parameter to take part
            return x * 0 + sum((parameter.sum() * 0 for parameter in self.parameters()), x.new_zeros(()))
        if mask is not None:
            x = x.masked_fill(~mask[..., None], 0)
            return self.mix(x, positions, sets, cycle).masked_fill(~mask[..., None], 0)
        if ptr is None:
            return self.mix(x, positions, sets, cycle)
        if not self.takes_packed:
            return self._mix_in_buckets(x, positions, sets, cycle)
        return self.mix(x[None], None if positions is None else positions[None], sets, cycle).squeeze(0)

    if TYPE_CHECKING:  # a call of torch's own module returns Any
        __call__ = forward

    def fit(self, cycle: Cycles | None, x: Tensor, sets: Sets) -> Cycles | None:
        """The given cycles if the mechanism walks any and they were made for these sets."""
        return None

    @never_compiled  # how many buckets there are depends on the sizes
    def _mix_in_buckets(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None) -> Tensor:
        """Packed sets as padded batches of similar sizes, so that padding at most doubles the work."""
        ptr = sets.ptr
        assert ptr is not None
        if len(ptr) == 2:  # one set needs no padding, and may be a scan of millions of points
            walk = None if cycle is None else [one.padded(ptr.new_zeros(1)) for one in each(cycle)]
            return self.mix(x[None], None if positions is None else positions[None], Sets(), walk).squeeze(0)
        rows, places = [], []
        everything = torch.arange(x.shape[0], device=x.device)
        for some in buckets(ptr):
            place, mask = pad_sets(everything, ptr, some)  # (sets, longest)
            if mask.shape[1] == 0:
                continue
            padded = x[place].masked_fill(~mask[..., None], 0)
            where = None if positions is None else positions[place]
            walk = None if cycle is None else [one.padded(some) for one in each(cycle)]
            rows.append(self.mix(padded, where, Sets(mask), walk)[mask])
            places.append(place[mask])
        return torch.cat(rows)[torch.cat(places).argsort()]

    def mix(self, x: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None) -> Tensor:
        """Project, attend, project back: x (batch, n, dim) -> (batch, n, dim)."""
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        return self.output(self.attend(query, key, value, positions, sets, cycle).flatten(2))

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        """The mechanism itself on (batch, n, heads, head_dim)."""
        raise NotImplementedError

    def read(
        self, asking: Points, answering: Points, cycle: Cycles | None, need_weights: bool
    ) -> tuple[Tensor, Weights | None]:
        """`mix` for queries that read other points, or that return their weights.

        The two arguments are one object when a set reads itself.
        """
        query = self.split(self.query(asking.x))
        key, value = self.split(self.key(answering.x)), self.split(self.value(answering.x))
        if need_weights:
            weights = self.weigh(query, key, asking, answering, cycle)
            return self.output(weights.apply(value).flatten(2)), weights
        return self.output(self.across(query, key, value, asking, answering).flatten(2)), None

    def across(self, query: Tensor, key: Tensor, value: Tensor, asking: Points, answering: Points) -> Tensor:
        """`attend` for queries (batch, m, heads, head_dim) and keys and values of other points, (batch, n, ...)."""
        raise NotImplementedError

    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> Weights:
        """The weights of `attend` or `across`, written out, after dropout."""
        raise NotImplementedError

    def context_refusal(self, cycle: Cycles | None) -> str | None:
        """Why this layer cannot read another set, or None if it can."""
        return "it attends within one set"

    def drop(self, weight: Tensor) -> Tensor:
        """Dropout of weights, each by itself."""
        return nn.functional.dropout(weight, self.dropping) if self.dropping else weight

    def drop_points(self, value: Tensor) -> Tensor:
        """Dropout of points, for all their readers at once: values (batch, n, heads, head_dim)."""
        if not self.dropping:
            return value
        return value * nn.functional.dropout(value.new_ones(*value.shape[:3], 1), self.dropping)

    def drop_columns(self, weight: Tensor) -> Tensor:
        """`drop_points` for weights written out, (batch, heads, queries, keys)."""
        if not self.dropping:
            return weight
        batch, heads, _, keys = weight.shape
        kept = nn.functional.dropout(weight.new_ones(batch, keys, heads, 1), self.dropping)
        return weight * kept.permute(0, 2, 3, 1)

    def split(self, x: Tensor) -> Tensor:
        """(batch, n, heads * head_dim) -> (batch, n, heads, head_dim)."""
        parts: Tensor = x.unflatten(-1, (self.heads, self.head_dim))
        return parts

    @torch.no_grad()
    def load_multihead(self, other: nn.MultiheadAttention) -> None:
        """Copy the weights of torch's own layer, which must have the same width, heads and biases."""
        weight, bias = other.in_proj_weight, other.in_proj_bias
        if weight is None or other.embed_dim != self.dim or self.heads * self.head_dim != self.dim:
            raise ValueError(f"other: expected self-attention of width {self.dim}, got width {other.embed_dim}")
        if other.num_heads != self.heads or (bias is None) != (self.query.bias is None):
            expected = f"{self.heads} heads with{'out' if self.query.bias is None else ''} biases"
            raise ValueError(f"other: expected {expected}, got {other.num_heads} heads and bias={bias is not None}")
        for part, layer in enumerate((self.query, self.key, self.value)):
            layer.weight.copy_(weight.chunk(3)[part])
            if bias is not None:
                layer.bias.copy_(bias.chunk(3)[part])
        self.output.load_state_dict(other.out_proj.state_dict())

    def extra_repr(self) -> str:
        said = f"dim={self.dim}, heads={self.heads}, head_dim={self.head_dim}, scale={self.scale:.4g}"
        return f"{said}, layer={self.layer}" + (f", dropout={self.dropout:g}" if self.dropout else "")

    def check(
        self,
        x: Tensor,
        positions: Tensor | None,
        mask: Tensor | None,
        ptr: Integers | None,
        name: str = "x",
        prefix: str = "",
    ) -> tuple[Tensor | None, Tensor | None]:
        """Refuse what does not fit, naming the argument; return cleared positions, and ptr as int64."""
        if mask is not None and ptr is not None:
            raise ValueError(f"{prefix}mask, {prefix}ptr: expected at most one of them, got both")
        axes = 3 if ptr is None else 2
        if not isinstance(x, Tensor) or x.dim() != axes or x.shape[-1] != self.dim or not x.is_floating_point():
            expected = f"(batch, n, {self.dim}), or (total, {self.dim}) with {prefix}ptr or {prefix}batch"
            expected = expected if ptr is None else f"(total, {self.dim})"
            raise ValueError(f"{name}: expected floats of shape {expected}, got {describe(x)}")
        return self.settle(x, positions, mask, ptr, prefix)

    def settle(
        self, x: Tensor, positions: Tensor | None, mask: Tensor | None, ptr: Integers | None, prefix: str = ""
    ) -> tuple[Tensor | None, Tensor | None]:
        """Check positions and how the points fall into sets; return cleared positions, and ptr as int64."""
        if mask is not None:
            check_mask(mask, x.shape[:-1], f"{prefix}mask")
            warn_of_padding_alone(mask)
        if ptr is not None:
            ptr = check_ptr(ptr, x.shape[0], f"{prefix}ptr", x.device)
            check_device(ptr, x, f"{prefix}ptr", "x" if not prefix else "context")
        name = f"{prefix}positions"
        if positions is None:
            if self.needs_positions:
                expected = f"{tuple(x.shape[:-1])} + (coordinates,)"
                raise ValueError(f"{name}: expected shape {expected}, which {type(self).__name__} needs, got None")
            return None, ptr
        if not isinstance(positions, Tensor):
            raise ValueError(f"{name}: expected a tensor, got {describe(positions)}")
        if positions.dim() != x.dim() or positions.shape[:-1] != x.shape[:-1] or not positions.is_floating_point():
            expected = f"{tuple(x.shape[:-1])} + (coordinates,)"
            raise ValueError(f"{name}: expected floats of shape {expected}, got {describe(positions)}")
        if mask is not None:
            positions = positions.masked_fill(~mask[..., None], 0)
        check_finite(positions, name)
        return positions, ptr


def number_layers(network: nn.Module) -> nn.Module:
    """Number the attention layers of a network in the order of its modules, and return the network.

    In evaluation a layer's cycle follows from the size of the set, the seed and this number: layers that share a number
    walk the same cycle and mix the points less than they could.
    """
    for number, layer in enumerate(module for module in network.modules() if isinstance(module, Attention)):
        layer.layer = number
    return network


def check_choice(name: str, choice: str, choices: Sequence[str]) -> None:
    """Refuse a word that is not among the choices."""
    if choice not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {choice!r}")
