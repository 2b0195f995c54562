"""Rotary attention: sums over the whole set through features that turn with the positions, O(n); not in the paper."""

from __future__ import annotations

import math
from typing import Any, Unpack

import torch
from torch import Tensor

from ...cycles import Cycles
from ...sets import Sets, check_coordinates
from ...support.compiled import Compiled
from ..attended import AllKeys, Points, check_fits
from ..base import Attention, Projections
from ..extreme import are_extreme
from ..kernels import without_autocast

LEAST_SHARE = 1e-12  # of what the weight of all points could be at most; ordinary features have 1e-6 or more


class RotaryAttention(Attention):
    """Every point reads all points of its set, with weights that depend on both features and on their offset in space.

        out_i = sum_j phi(q_i).R(x_j - x_i) phi(k_j) v_j / sum_j phi(q_i).phi(k_j),    phi(x) = elu(x) + 1

    R turns the features in pairs, pair f by the angle w_f.(x_j - x_i). Since R(x_j - x_i) = R(x_i)^T R(x_j), every
    point is turned by itself and summed once: O(n). This is linear attention with the rotary embedding of "RoFormer",
    https://arxiv.org/abs/2104.09864, for positions in space. Moving a set as a whole changes nothing; weights may be
    negative. The frequencies w_f are fixed, so the parameters are those of dense attention. `scale` changes nothing.
    `dropout` drops points from the sum over v_j, for all readers at once.

    Args:
        low, high: length of the smallest and the largest w_f of a head, in radians per unit of the positions. The
            defaults suit clouds in the unit sphere.
        coordinates: number of coordinates of a position.
        projections: head_dim, bias, scale and layer of `Attention`.
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
        **projections: Unpack[Projections],
    ) -> None:
        super().__init__(dim, heads, **projections)
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
        self, query: Tensor, key: Tensor, value: Tensor, positions: Tensor | None, sets: Sets, cycle: Cycles | None
    ) -> Tensor:
        assert positions is not None
        check_coordinates(positions, self.coordinates)
        with without_autocast(query):  # which would leave two digits of an angle
            return rotary_sums(query, key, self.drop_points(value), positions, self.frequencies, sets.mask)

    def across(self, query: Tensor, key: Tensor, value: Tensor, asking: Points, answering: Points) -> Tensor:
        turned_query, turned_key = self.turn(query, key, asking, answering)
        with without_autocast(query):
            return turned_sums(turned_query, turned_key, self.drop_points(value))

    def weigh(self, query: Tensor, key: Tensor, asking: Points, answering: Points, cycle: Cycles | None) -> AllKeys:
        check_fits(query.shape[0], query.shape[1], key.shape[1], query.shape[2], query.element_size())
        turned_query, turned_key = self.turn(query, key, asking, answering)
        with without_autocast(query):
            return AllKeys(self.drop_columns(turned_query.transpose(1, 2) @ turned_key.permute(0, 2, 3, 1)))

    def turn(self, query: Tensor, key: Tensor, asking: Points, answering: Points) -> tuple[Tensor, Tensor]:
        """The turned features of queries and keys of two sets."""
        for name, points in (("positions", asking), ("context_positions", answering)):
            if points.positions is None:
                raise ValueError(f"{name}: expected {self.coordinates} coordinates, got None")
            check_coordinates(points.positions, self.coordinates, name)
        assert asking.positions is not None
        assert answering.positions is not None
        with without_autocast(query):
            turns = [angles(one, self.frequencies, query.dtype) for one in (asking.positions, answering.positions)]
            return turned_features(query, key, turns[0], turns[1], answering.mask)

    def context_refusal(self, cycle: Cycles | None) -> None:
        return None

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, low={self.low}, high={self.high}, coordinates={self.coordinates}"


def rotary_sums(
    query: Tensor, key: Tensor, value: Tensor, positions: Tensor, frequencies: Tensor, mask: Tensor | None
) -> Tensor:
    """sum_j phi(q_i) . R(x_j - x_i) phi(k_j) v_j / sum_j phi(q_i) . phi(k_j) over all points j of the set.

    Query, key and value are (batch, n, heads, head_dim), positions (batch, n, coordinates), and frequencies
    (heads, head_dim / 2, coordinates): a feature of the first half of a head and its like of the second turn together.
    """
    if query.dtype != torch.float64 and are_extreme(query, key):
        wide = rotary_sums(query.double(), key.double(), value.double(), positions, frequencies, mask)
        return wide.to(value.dtype)
    turn = angles(positions, frequencies, query.dtype)
    return turned_sums(*turned_features(query, key, turn, turn, mask), value)


def angles(positions: Tensor, frequencies: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosine and sine of w_f.x_i, (batch, n, heads, head_dim / 2) each."""
    exact = torch.promote_types(dtype, torch.float32)
    angle = positions.to(exact) @ frequencies.to(exact).flatten(0, 1).T
    cosine, sine = (x.unflatten(-1, frequencies.shape[:2]) for x in (angle.cos(), angle.sin()))
    return cosine, sine


def turned_features(
    query: Tensor, key: Tensor, turn: tuple[Tensor, Tensor], key_turn: tuple[Tensor, Tensor], mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """R(x_i) phi(q_i) / sum_j phi(q_i) . phi(k_j), and R(x_j) phi(k_j), whose products are the weights."""
    exact = torch.promote_types(query.dtype, torch.float32)
    key = key.to(exact)
    if mask is not None:
        key = key.masked_fill(~mask[..., None, None], -math.inf)  # whose features are zero
    turned_key, total = _TurnedKey.apply(key, *key_turn)  # type: ignore[no-untyped-call]
    turned_query: Tensor = _TurnedQuery.apply(query.to(exact), total, *turn)  # type: ignore[no-untyped-call]
    return turned_query, turned_key


def turned_sums(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Sums of the values with the products of turned features for weights."""
    sums: Tensor = key.permute(0, 2, 3, 1) @ value.to(key.dtype).transpose(1, 2)  # (batch, heads, d, d)
    return (query.transpose(1, 2) @ sums).transpose(1, 2).to(value.dtype)


class _TurnedKey(torch.autograd.Function):
    """R(x_j) phi(k_j) and the sum of phi(k_j) over the points.

    Both have backward passes of their own for speed: the features are cheaper to recompute than to store, and one pass
    over memory does what autograd does in ten.
    """

    generate_vmap_rule = True

    @staticmethod
    def forward(key: Tensor, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor]:
        return _turn_key(key, cosine, sine)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, grad_total: Tensor) -> tuple[Tensor | None, ...]:
        key, cosine, sine = ctx.saved_tensors
        angles = _angle_gradients(grad, _features(key)) if ctx.needs_input_grad[1] else (None, None)
        return _turn_key_back(grad, key, cosine, sine, grad_total), *angles


class _TurnedQuery(torch.autograd.Function):
    """R(x_i) phi(q_i) / (phi(q_i) . total)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(query: Tensor, total: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
        return _turn_query(query, total, cosine, sine)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, total, cosine, sine = ctx.saved_tensors
        angles: tuple[Tensor | None, Tensor | None] = (None, None)
        if ctx.needs_input_grad[2]:
            features = _features(query)
            angles = _angle_gradients(grad, features / _weight_of_all(features, total))
        return *_turn_query_back(grad, query, total, cosine, sine), *angles


@Compiled
def _turn_key(key: Tensor, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor]:
    features = _features(key)
    return _turn(features, cosine, sine), features.sum(1)


@Compiled
def _turn_key_back(grad: Tensor, key: Tensor, cosine: Tensor, sine: Tensor, grad_total: Tensor) -> Tensor:
    return (_turn(grad, cosine, -sine) + grad_total[:, None]) * _slope(key)


@Compiled
def _turn_query(query: Tensor, total: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    features = _features(query)
    return _turn(features / _weight_of_all(features, total), cosine, sine)


@Compiled
def _turn_query_back(grad: Tensor, query: Tensor, total: Tensor, cosine: Tensor, sine: Tensor) -> tuple[Tensor, Tensor]:
    """Of u = R phi / D with D = phi . total: dD = -(du . u) / D, and du . R phi = R^T du . phi."""
    features = _features(query)
    weight = _weight_of_all(features, total)
    back = _turn(grad, cosine, -sine) / weight
    grad_weight = -(back * features).sum(-1, keepdim=True) / weight
    return (back + grad_weight * total[:, None]) * _slope(query), (grad_weight * features).sum(1)


def _features(x: Tensor) -> Tensor:
    """phi(x) = elu(x) + 1."""
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def _slope(x: Tensor) -> Tensor:
    """The derivative of phi."""
    return x.clamp(max=0).exp()


def _weight_of_all(features: Tensor, total: Tensor) -> Tensor:
    """phi(q_i) . sum_j phi(k_j), (batch, n, heads, 1); of an empty set, and where almost nothing is left, infinity.

    Then nothing is read: turned features have products where those that are not turned have none, and dividing these
    by almost nothing would leave the range of floats.
    """
    weight = (features * total[:, None]).sum(-1, keepdim=True)
    most = features.sum(-1, keepdim=True) * total.sum(-1, keepdim=True)[:, None]
    return torch.where(weight > LEAST_SHARE * most, weight, torch.inf)


def _turn(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)


def _angle_gradients(grad: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
    """With respect to cosine and sine."""
    (first, second), (along, across) = features.chunk(2, -1), grad.chunk(2, -1)
    return along * first + across * second, across * first - along * second


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
    directions: Tensor = normal / normal.norm(dim=1, keepdim=True)
    return directions.to(torch.get_default_dtype())
