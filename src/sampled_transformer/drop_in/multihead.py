"""Multi-head attention with the signature of torch.nn.MultiheadAttention, for any mechanism by name."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..attention import create_attention
from ..attention.attended import AttentionPairs
from ..cycles import Cycles
from ..sets import describe
from .padding import real_points


class MultiheadAttention(nn.Module):
    """torch.nn.MultiheadAttention, with our mechanisms inside and the weights of torch's layer.

        MultiHead(Q, K, V) = W_O [Head^1; ...; Head^h] + b_O

    With `attention="dense"` it computes what torch's layer computes. Its parameters begin as torch's do, and
    `load_state_dict` takes the weights of torch's layer as they are (not for "none", "induced" and the vector form of
    "knn", which have other parameters).

    Two things differ. The output at the padding is zero. And the weights that `need_weights=True` returns are a sparse
    tensor of torch's shape for all mechanisms but "dense": `.to_dense()` writes it out.

    Args:
        embed_dim: width of the points' features.
        num_heads: number of heads.
        dropout: share of the attention weights dropped in training.
        bias: give the projections a bias.
        add_bias_kv, add_zero_attn: not supported; they add a key that belongs to no point.
        kdim, vdim: width of keys and values, which must be embed_dim.
        batch_first: tensors are (batch, n, embed_dim) instead of torch's default (n, batch, embed_dim).
        device, dtype: of the parameters.
        attention: name of the mechanism, see `list_attention`.
        options: further options of the mechanism.
    """

    # What torch's encoder asks before it takes its fast path, which would compute dense attention: there is none here.
    in_proj_weight = None
    in_proj_bias = None
    bias_k = None
    bias_v = None
    add_zero_attn = False
    _qkv_same_embed_dim = False

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        attention: str = "sampled",
        **options: Any,
    ) -> None:
        super().__init__()
        for name, given in (("add_bias_kv", add_bias_kv), ("add_zero_attn", add_zero_attn)):
            if given:
                raise ValueError(f"{name}: expected False, as it adds a key that belongs to no point, got {given}")
        for name, width in (("kdim", kdim), ("vdim", vdim)):
            if width not in (None, embed_dim):
                advice = f"project to {embed_dim} features first"
                raise ValueError(f"{name}: expected {embed_dim}, the width of the queries, got {width}; {advice}")
        if "head_dim" in options:
            raise ValueError(f"head_dim: expected none, as it is embed_dim / num_heads, got {options['head_dim']}")
        self.attention = create_attention(attention, embed_dim, num_heads, bias=bias, dropout=dropout, **options)
        self.embed_dim = self.kdim = self.vdim = embed_dim
        self.num_heads, self.head_dim = num_heads, self.attention.head_dim
        self.dropout, self.batch_first, self.mechanism = dropout, batch_first, attention
        self._reset_parameters()
        self.to(device=device, dtype=dtype)

    @property
    def out_proj(self) -> nn.Linear:
        """W_O, under torch's name."""
        return self.attention.output

    def _reset_parameters(self) -> None:
        """As torch does: Xavier for the three input projections as one matrix (3 dim, dim), zero for all biases."""
        layers = [getattr(self.attention, name, None) for name in ("query", "key", "value", "output")]
        for number, layer in enumerate(layer for layer in layers if layer is not None):
            if number < 3:
                nn.init.xavier_uniform_(layer.weight, gain=2**-0.5)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
        *,
        positions: Tensor | None = None,
        key_positions: Tensor | None = None,
        cycle: Cycles | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend within a set if query, key and value hold the same, else from the queries to the keys.

        Args:
            query: (n, batch, embed_dim), (batch, n, embed_dim) with batch_first, (n, embed_dim) for a single set, or
                nested.
            key, value: one tensor: query itself, or another of its form, which the queries read.
            key_padding_mask: (batch, keys) or (keys,), **True for padding**, or floats: 0 real, -inf padding.
            need_weights: also return the weights, (batch, n, keys) or (n, keys); pass False unless you need them.
            attn_mask, is_causal: refused, since a mechanism itself chooses whom a point attends to.
            average_attn_weights: average the weights over the heads; otherwise (batch, heads, n, keys).
            positions: coordinates of the queries, in the layout of query, for mechanisms that read them.
            key_positions: coordinates of the keys, where they are not the queries.
            cycle: the cycle to walk instead of a drawn one, as in `Attention.forward`.
        """
        refuse_order(attn_mask, "attn_mask", is_causal)
        if not is_same(key, value):
            raise ValueError("value: expected what key holds, as both come from one set of points, got other numbers")
        is_self = is_same(query, key)
        if is_self and key_positions is not None:
            raise ValueError("key_positions: expected None, as the keys are the queries, got positions")
        self._check("query", query)
        x, places = self._batched(query, query), self._batched(positions, query)
        arguments: dict[str, Any] = {"cycle": cycle}
        if is_self:
            arguments["mask"] = self._real(key_padding_mask, query, x)
        else:
            self._check("key", key)
            arguments["context"] = context = self._batched(key, query)
            arguments["context_positions"] = self._batched(key_positions, query)
            arguments["context_mask"] = self._real(key_padding_mask, query, context)
        if not need_weights:
            return self._as_given(self.attention(x, places, **arguments), query), None
        arguments["need_weights"] = True
        result: Any = self.attention(x, places, **arguments)
        output, pairs = result
        weights = written_out(pairs, average_attn_weights, sparse=self.mechanism != "dense")
        return self._as_given(output, query), weights if is_batched(query) else weights[0]

    if TYPE_CHECKING:  # a call of torch's own module returns Any
        __call__ = forward

    def _check(self, name: str, x: Tensor) -> None:
        if not isinstance(x, Tensor) or x.dim() not in (2, 3) or x.size(-1) != self.embed_dim:
            width = self.embed_dim
            batched = f"(batch, n, {width})" if self.batch_first else f"(n, batch, {width})"
            raise ValueError(f"{name}: expected floats of shape {batched} or (n, {width}), got {describe(x)}")

    def _batched(self, x: Any, query: Tensor) -> Any:
        """(batch, n, width) of a tensor in the layout of query."""
        if x is None or query.is_nested:
            return x
        if not is_batched(query):
            return x[None]
        return x if self.batch_first else x.transpose(0, 1)

    def _as_given(self, x: Tensor, query: Tensor) -> Tensor:
        """The opposite of `_batched`."""
        if query.is_nested:
            return x
        if not is_batched(query):
            return x[0]
        return x if self.batch_first else x.transpose(0, 1)

    def _real(self, padding: Tensor | None, query: Tensor, keys: Tensor) -> Tensor | None:
        """The mask of ours for keys (batch, n, width)."""
        if padding is None:
            return None
        if query.is_nested:
            raise ValueError("key_padding_mask: expected None with nested tensors, which know their sets, got one")
        if is_batched(query):
            return real_points(padding, tuple(keys.shape[:2]))
        return real_points(padding, (keys.shape[1],))[None]

    def _load_from_state_dict(self, state_dict: MutableMapping[str, Any], prefix: str, *others: Any) -> None:
        """Accept the names of torch's layer, too: in_proj_weight holds W_Q, W_K and W_V, one below the other."""
        rename_projections(state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *others)

    def extra_repr(self) -> str:
        return f"batch_first={self.batch_first}"


def is_batched(query: Tensor) -> bool:
    """Whether there is an axis of sets; torch also takes a single set (n, dim)."""
    return query.dim() == 3


def is_same(one: Tensor, other: Tensor) -> bool:
    """Whether two arguments are the same points: one tensor, views of the same memory, or copies of each other."""
    if one is other:
        return True
    if one.is_nested or other.is_nested or torch.compiler.is_compiling():
        return False
    if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
        return False
    return (one.data_ptr() == other.data_ptr() and one.stride() == other.stride()) or torch.equal(one, other)


def refuse_order(mask: Tensor | None, name: str, is_causal: bool) -> None:
    """Refuse torch's masks of single pairs of points, saying why."""
    if mask is not None:
        reason = "as the mechanism itself chooses whom a point attends to"
        belongs = "key_padding_mask" if name == "attn_mask" else "src_key_padding_mask"
        raise ValueError(f"{name}: expected None, {reason}, got {describe(mask)}; padding belongs into {belongs}")
    if is_causal:
        raise ValueError("is_causal: expected False, as the points of a set have no order, got True")


def rename_projections(state: MutableMapping[str, Any], prefix: str = "") -> None:
    """Give the tensors of a torch.nn.MultiheadAttention in a state_dict the names that they have in ours."""
    for kind in ("weight", "bias"):
        joined = state.pop(f"{prefix}in_proj_{kind}", None)
        if joined is not None:
            for name, part in zip(("query", "key", "value"), joined.chunk(3), strict=True):
                state[f"{prefix}attention.{name}.{kind}"] = part
        output = state.pop(f"{prefix}out_proj.{kind}", None)
        if output is not None:
            state[f"{prefix}attention.output.{kind}"] = output


def written_out(pairs: AttentionPairs, average: bool, sparse: bool) -> Tensor:
    """`AttentionPairs` as torch returns weights: (sets, queries, keys), or (sets, heads, queries, keys) per head."""
    if not sparse:
        weights: Tensor = pairs.dense()
        return weights.mean(1) if average else weights
    sets, queries, keys = pairs.shape
    count, heads = pairs.weight.shape
    query, key = pairs.query_index, pairs.key_index
    if pairs.ptr is not None and pairs.context_ptr is not None:  # rows of packed sets, here places in their sets
        query, key = query - pairs.ptr[pairs.set_index], key - pairs.context_ptr[pairs.set_index]
    shape: tuple[int, ...] = (sets, queries, keys)
    places: tuple[Tensor, ...] = (pairs.set_index, query, key)
    weight = pairs.weight.mean(1)
    if not average:
        shape, weight = (sets, heads, queries, keys), pairs.weight.flatten()
        head = torch.arange(heads, device=weight.device)
        columns = (pairs.set_index[:, None], head, query[:, None], key[:, None])
        places = tuple(column.expand(count, heads).flatten() for column in columns)
    return torch.sparse_coo_tensor(torch.stack(places), weight, shape, check_invariants=False).coalesce()
