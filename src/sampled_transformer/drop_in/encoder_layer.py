"""An encoder layer with the signature of torch.nn.TransformerEncoderLayer, for any mechanism by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..cycles import Cycles
from ..layers.feed_forward import ACTIVATIONS
from ..layers.sparse_gradient import Linear
from .multihead import MultiheadAttention, is_batched, refuse_order
from .padding import real_points


class TransformerEncoderLayer(nn.Module):
    """torch.nn.TransformerEncoderLayer, with our mechanisms inside and the parameters and names of torch's layer.

        x <- LN_1(x + Attention(x)),    x <- LN_2(x + W_2 a(W_1 x))                    (torch's default)
        x <- x + Attention(LN_1(x)),    x <- x + W_2 a(W_1 LN_2(x))                    (norm_first)

    nn.TransformerEncoder stacks it as it stacks its own. It copies one layer, so number the copies: `number_layers(
    nn.TransformerEncoder(layer, 6))` gives every layer a cycle of its own in evaluation. The fast path of torch's
    encoder, which computes dense attention, is never taken. `load_state_dict` takes the weights of torch's layer.

    Args:
        d_model: width of the points' features.
        nhead: number of heads.
        dim_feedforward: width of the feed-forward layer.
        dropout: share dropped from what both branches add, inside the feed-forward layer, and of the attention weights.
        activation: "relu", "gelu" or a function of one tensor.
        layer_norm_eps: epsilon of both norms.
        batch_first: tensors are (batch, n, d_model) instead of torch's default (n, batch, d_model).
        norm_first: norms before attention and feed-forward layer instead of after them.
        bias: give all linear layers and norms a bias.
        device, dtype: of the parameters.
        attention: name of the mechanism, see `list_attention`.
        options: further options of the mechanism.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        attention: str = "sampled",
        **options: Any,
    ) -> None:
        super().__init__()
        if not callable(activation) and activation not in ACTIVATIONS:
            expected = ", ".join((*ACTIVATIONS, "a function"))
            raise ValueError(f"activation: expected one of {expected}, got {activation!r}")
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, attention=attention, **options
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias)
        self.norm_first = norm_first
        self.norm1 = nn.LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.norm2 = nn.LayerNorm(d_model, eps=layer_norm_eps, bias=bias)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)
        self.activation = activation if callable(activation) else ACTIVATIONS[activation]
        self.to(device=device, dtype=dtype)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
        *,
        positions: Tensor | None = None,
        cycle: Cycles | None = None,
    ) -> Tensor:
        """One layer of an encoder. The output at the padding has no meaning.

        Args:
            src: (n, batch, d_model), (batch, n, d_model) with batch_first, (n, d_model) for a single set, or nested.
            src_mask, is_causal: refused, since a mechanism itself chooses whom a point attends to.
            src_key_padding_mask: (batch, n) or (n,), **True for padding**, or floats: 0 real, -inf padding.
            positions: coordinates in the layout of src, for mechanisms that read them.
            cycle: the cycle to walk instead of a drawn one, as in `Attention.forward`.
        """
        refuse_order(src_mask, "src_mask", is_causal)
        x = src if src_key_padding_mask is None else self._clear_padding(src, src_key_padding_mask)
        if self.norm_first:
            x = x + self._attend(self.norm1(x), src_key_padding_mask, positions, cycle)
            return x + self._feed_forward(self.norm2(x))
        x = self.norm1(x + self._attend(x, src_key_padding_mask, positions, cycle))
        out: Tensor = self.norm2(x + self._feed_forward(x))
        return out

    if TYPE_CHECKING:  # a call of torch's own module returns Any
        __call__ = forward

    def _attend(self, x: Tensor, padding: Tensor | None, positions: Tensor | None, cycle: Cycles | None) -> Tensor:
        attended, _ = self.self_attn(x, x, x, padding, need_weights=False, positions=positions, cycle=cycle)
        out: Tensor = self.dropout1(attended)
        return out

    def _feed_forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))
        return out

    def _clear_padding(self, src: Tensor, padding: Tensor) -> Tensor:
        """Zero in the padding, where a NaN would spoil the gradients of norms and linear layers."""
        if src.is_nested:
            return src
        swapped = is_batched(src) and not self.self_attn.batch_first
        shape = src.shape[:-1][::-1] if swapped else src.shape[:-1]
        real = real_points(padding, tuple(shape), "src_key_padding_mask")
        return src.masked_fill(~(real.T if swapped else real)[..., None], 0)
