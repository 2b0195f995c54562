"""Rotary attention: sums over the whole set through features that turn with the positions, O(n); not in the paper."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..cycles import Cycle
from .base import Attention, Sets
from .compiled import Compiled
from .kernels import without_autocast


class RotaryAttention(Attention):
    """Every point reads all points of its set with weights that depend on what both are and on where they lie apart.

    out_i = sum_j (1 + q_i) . R(x_j - x_i) (1 + k_j) v_j / (n sqrt(head_dim)), where R turns the features in pairs, pair
    f by the angle w_f . (x_j - x_i). Since R(x_j - x_i) = R(x_i)^T R(x_j), the points are turned one by one and summed
    up once: O(n). That is the rotary embedding of Su et al., "RoFormer" (2021), in linear attention, without its
    positive features and its denominator. Moving a set as a whole changes nothing; the weights may be negative and do
    not sum to one. The frequencies w_f are fixed, so the parameters are those of dense attention. `scale` changes
    nothing.

    Args:
        low, high: length of the smallest and the largest w_f of a head, in radians for one unit of the positions. The
            defaults suit clouds in the unit sphere.
        coordinates: number of coordinates of a position.
    """

    needs_positions = True

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        *,
        low: float = 0.5,
        high: float = 16.0,
        coordinates: int = 3,
        head_dim: int | None = None,
        bias: bool = False,
        scale: float | None = None,
        layer: int = 0,
    ) -> None:
        super().__init__(dim, heads, head_dim=head_dim, bias=bias, scale=scale, layer=layer)
        if self.head_dim % 2:
            raise ValueError(f"head_dim: expected an even number, as features turn in pairs, got {self.head_dim}")
        if not 0 < low <= high < math.inf:
            raise ValueError(f"low, high: expected 0 < low <= high, got {low} and {high}")
        if coordinates < 1:
            raise ValueError(f"coordinates: expected at least 1, got {coordinates}")
        self.low, self.high, self.coordinates = low, high, coordinates
        pairs = self.head_dim // 2
        lengths = torch.logspace(math.log10(low), math.log10(high), pairs)
        frequencies = spread_directions(heads * pairs, coordinates).view(heads, pairs, coordinates) * lengths[:, None]
        # They follow from the options: weights hold none, and those of dense attention fit.
        self.register_buffer("frequencies", frequencies, persistent=False)
        self.frequencies: Tensor

    def attend(
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycle | None
    ) -> Tensor:
        assert positions is not None
        if positions.shape[-1] != self.coordinates:
            raise ValueError(f"positions: expected {self.coordinates} coordinates, got {positions.shape[-1]}")
        with without_autocast(query):  # which would leave two digits of an angle
            return rotary_sums(query, key, value, positions, self.frequencies, sets.mask)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, low={self.low}, high={self.high}, coordinates={self.coordinates}"


def rotary_sums(
    query: Tensor, key: Tensor, value: Tensor, positions: Tensor, frequencies: Tensor, mask: Tensor | None
) -> Tensor:
    """sum_j (1 + q_i) . R(x_j - x_i) (1 + k_j) v_j / (n sqrt(head_dim)) over all points j of the set.

    Query, key and value are (batch, n, heads, head_dim), positions (batch, n, coordinates), and frequencies
    (heads, head_dim / 2, coordinates).
    """
    exact = torch.promote_types(query.dtype, torch.float32)
    angle = positions.to(exact) @ frequencies.to(exact).flatten(0, 1).T
    cosine, sine = (x.unflatten(-1, frequencies.shape[:2]) for x in (angle.cos(), angle.sin()))
    if mask is not None:
        value = value.masked_fill(~mask[..., None, None], 0)
    count = query.shape[1] if mask is None else mask.sum(1, dtype=exact).clamp(min=1)[:, None, None, None]
    query, key = (_Turn.apply(x.to(exact), cosine, sine).transpose(1, 2) for x in (query, key))
    sums = key.transpose(2, 3) @ value.to(exact).transpose(1, 2)  # (batch, heads, head_dim, head_dim)
    return (query @ (sums / (count * query.shape[-1] ** 0.5))).transpose(1, 2).to(value.dtype)


class _Turn(torch.autograd.Function):
    """R(x) (1 + features): a feature of the first half of a head and its like of the second turn together.

    Of its own for speed: forward and backward are one pass over memory each, and nothing but the turn itself is kept.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(features: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        return _turn_ahead(features, cosine, sine)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        features, cosine, sine = inputs
        ctx.save_for_backward(cosine, sine, features if any(ctx.needs_input_grad[1:]) else None)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        cosine, sine, features = ctx.saved_tensors
        back = _turn_back(grad, cosine, sine)
        if features is None:
            return back, None, None
        (first, second), (along, across) = (features + 1).chunk(2, -1), grad.chunk(2, -1)
        return back, along * first + across * second, across * first - along * second


@Compiled
def _turn_ahead(features: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = (features + 1).chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


@Compiled
def _turn_back(grad: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = grad.chunk(2, -1)
    return torch.cat([first * cosine + second * sine, second * cosine - first * sine], -1)


def spread_directions(count: int, coordinates: int) -> Tensor:
    """Unit vectors (count, coordinates) that lie evenly in all directions, the same on every machine.

    Points of a Kronecker sequence with the powers of the generalised golden ratio, through the normal distribution.
    """
    golden = 2.0
    for _ in range(64):  # the root of g^(coordinates + 1) = g + 1
        golden = (1 + golden) ** (1 / (coordinates + 1))
    steps = golden ** -torch.arange(1, coordinates + 1, dtype=torch.float64)
    even = (0.5 + torch.arange(1, count + 1, dtype=torch.float64)[:, None] * steps) % 1
    normal = torch.special.ndtri(even)
    return (normal / normal.norm(dim=1, keepdim=True)).to(torch.get_default_dtype())
