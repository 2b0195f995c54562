"""The contract that every mechanism keeps: the same arguments, the same call, the same four projections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Never, TypedDict

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


class Projections(TypedDict, total=False):
    """The options that all mechanisms share; `Attention` describes them."""

    head_dim: int | None
    bias: bool
    scale: float | None
    layer: int


class Attention(nn.Module):
    """Multi-head attention from every point of a set to points of the same set.

    `forward` checks its arguments and settles what padding means. A mechanism fills in `attend` (Eq. 1a, 5a), or `mix`
    where the projections themselves differ. The residual connection belongs to the block around it.

    Args:
        dim: width of the points' features.
        heads: number of heads.
        head_dim: width of a head (default: dim / heads).
        bias: give the projections a bias (Eq. 1 and 5 have none).
        scale: factor of the scores before the softmax (default: 1 / sqrt(head_dim); 1.0 is Eq. 1 and 5 as written).
        layer: number of the layer in its network; layers of one network should differ in it (see `number_layers`).
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
        # As a ratio of integers: torch.compile takes a float attribute for an input that changes.
        self._scale = float(self.head_dim**-0.5 if scale is None else scale).as_integer_ratio()
        self._build(bias)

    @property
    def is_random(self) -> bool:
        """Whether the output depends on chance: on fresh draws in training, on a seed in evaluation."""
        return False

    @property
    def scale(self) -> float:
        """The factor of the scores before the softmax."""
        return self._scale[0] / self._scale[1]

    def _build(self, bias: bool) -> None:
        """Create the parameters: W_Q, W_K, W_V and W_O, the same for all mechanisms that share weights."""
        inner = self.heads * self.head_dim
        self.query = Linear(self.dim, inner, bias=bias)
        self.key = Linear(self.dim, inner, bias=bias)
        self.value = Linear(self.dim, inner, bias=bias)
        self.output = Linear(inner, self.dim, bias=bias)

    def forward(
        self,
        x: Tensor,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        ptr: Integers | None = None,
        cycle: Cycles | None = None,
        *,
        batch: Integers | None = None,
        batch_size: int | None = None,
        **foreign: Never,
    ) -> Tensor:
        """Attend within each set.

        Args:
            x: features, (batch, n, dim), or packed (total, dim) with `ptr` or `batch`, or nested.
            positions: coordinates, (batch, n, coordinates) or packed (total, coordinates), or nested as x.
            mask: (batch, n), True where a point is real. The padding's content never matters; its output is zero.
            ptr: (sets + 1,), where each packed set begins and the last one ends; a tensor, list or numpy array.
            cycle: the cycle to walk instead of a drawn one, or several, whose results are averaged (mechanisms without
                cycles ignore it).
            batch: (total,), the number of each point's set in ascending order, as in PyTorch Geometric, instead of ptr.
            batch_size: number of sets in `batch`; a GPU need not wait if it is given.
            foreign: none; masks of other libraries are refused by name.
        """
        refuse_foreign(foreign, "Attention.forward()")
        if batch is not None or batch_size is not None or any_nested(x, positions):
            (rows, places), ptr = settle_form({"x": x, "positions": positions}, mask, ptr, batch, batch_size)
            return restore_form(self.forward(rows, places, None, ptr, cycle), x)
        positions, ptr = self._check(x, positions, mask, ptr)
        sets = Sets(mask, ptr)
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
        return (
            f"dim={self.dim}, heads={self.heads}, head_dim={self.head_dim}, scale={self.scale:.4g}, layer={self.layer}"
        )

    def _check(
        self, x: Tensor, positions: Tensor | None, mask: Tensor | None, ptr: Integers | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """Refuse what does not fit, naming the argument; return cleared positions, and ptr as int64."""
        if mask is not None and ptr is not None:
            raise ValueError("mask, ptr: expected at most one of them, got both")
        axes = 3 if ptr is None else 2
        if not isinstance(x, Tensor) or x.dim() != axes or x.shape[-1] != self.dim or not x.is_floating_point():
            expected = f"(batch, n, {self.dim}), or (total, {self.dim}) with ptr or batch"
            expected = expected if ptr is None else f"(total, {self.dim})"
            raise ValueError(f"x: expected floats of shape {expected}, got {describe(x)}")
        return self.settle(x, positions, mask, ptr)

    def settle(
        self, x: Tensor, positions: Tensor | None, mask: Tensor | None, ptr: Integers | None
    ) -> tuple[Tensor | None, Tensor | None]:
        """Check positions and how the points fall into sets; return cleared positions, and ptr as int64."""
        if mask is not None:
            check_mask(mask, x.shape[:-1])
            warn_of_padding_alone(mask)
        if ptr is not None:
            ptr = check_ptr(ptr, x.shape[0], device=x.device)
            check_device(ptr, x, "ptr", "x")
        if positions is None:
            if self.needs_positions:
                expected = f"{tuple(x.shape[:-1])} + (coordinates,)"
                raise ValueError(f"positions: expected shape {expected}, which {type(self).__name__} needs, got None")
            return None, ptr
        if not isinstance(positions, Tensor):
            raise ValueError(f"positions: expected a tensor, got {describe(positions)}")
        if positions.dim() != x.dim() or positions.shape[:-1] != x.shape[:-1] or not positions.is_floating_point():
            expected = f"{tuple(x.shape[:-1])} + (coordinates,)"
            raise ValueError(f"positions: expected floats of shape {expected}, got {describe(positions)}")
        if mask is not None:
            positions = positions.masked_fill(~mask[..., None], 0)
        check_finite(positions, "positions")
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
