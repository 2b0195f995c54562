"""The transformer block TB / STB (Eq. 1 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Never

import torch
from torch import Tensor, nn

from .attention import create_attention
from .cycles import Cycles
from .layers.drop_path import DropPath
from .layers.feed_forward import FeedForward
from .sets import Integers, check_mask, refuse_foreign, restore_form, settle_form


class TransformerBlock(nn.Module):
    """A transformer block with any attention by name: TB of Eq. 1 with "dense", STB of Eq. 5d with "sampled".

        x <- x + Attention(x)                                                                       (Eq. 1b, 5b, 5c)
        x <- x + W_2 ReLU(W_1 x)                                                                        (Eq. 1c, 5d)

    Args:
        dim: width of the features.
        heads: number of heads.
        attention: name of the mechanism, see `list_attention`.
        hidden: r, the width of the feed-forward layer (default: dim).
        norm: LayerNorm before attention and before the feed-forward layer ("pre-norm"); the paper writes none.
        activation: "relu" (the paper) or "gelu".
        dropout: share of the features dropped from what each of the two residual branches adds.
        drop_path: probability, per set, of skipping a residual branch in training.
        bias: give all linear layers a bias; the paper's have none.
        attention_dropout: share of the attention weights dropped in training, the option `dropout` of the mechanism.
        gate: x <- x + g Attention(x), with a learned factor g per feature that begins at zero.
        attention_options: further options of the mechanism.
    """

    def __init__(
        self,
        dim: int,
        heads: int = 8,
        attention: str = "sampled",
        *,
        hidden: int | None = None,
        norm: bool = False,
        activation: str = "relu",
        dropout: float = 0.0,
        drop_path: float = 0.0,
        bias: bool = False,
        attention_dropout: float = 0.0,
        gate: bool = False,
        **attention_options: Any,
    ) -> None:
        super().__init__()
        if attention_dropout:
            attention_options["dropout"] = attention_dropout
        self.attention = create_attention(attention, dim, heads, bias=bias, **attention_options)
        self.feed_forward = FeedForward(dim, hidden, activation=activation, bias=bias)
        # Without attention there is nothing to normalise, and DDP wants a gradient for every parameter.
        self.attention_norm = nn.LayerNorm(dim) if norm and attention != "none" else nn.Identity()
        self.feed_forward_norm = nn.LayerNorm(dim) if norm else nn.Identity()
        self.gate = nn.Parameter(torch.zeros(dim)) if gate and attention != "none" else None
        self.dropout = nn.Dropout(dropout)
        self.drop_path = DropPath(drop_path)

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
        **foreign: Never,
    ) -> Tensor:
        """Arguments as in `Attention.forward`. The output in the padding has no meaning.

        The block reads a context as it is: only x passes `attention_norm`, as in pre-norm decoders, whose encoder ends
        with a norm of its own.
        """
        refuse_foreign(foreign, "TransformerBlock.forward()")
        source = x
        (x, positions), ptr = settle_form({"x": x, "positions": positions}, mask, ptr, batch, batch_size)
        if mask is not None:  # before the norms and the feed-forward layer, whose gradients a NaN would spoil
            check_mask(mask, x.shape[:-1])
            x = x.masked_fill(~mask[..., None], 0)
        given = {
            "context": context,
            "context_positions": context_positions,
            "context_mask": context_mask,
            "context_ptr": context_ptr,
            "context_batch": context_batch,
            "context_batch_size": context_batch_size,
        }
        reading: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        attended = self.attention(self.attention_norm(x), positions, mask, ptr, cycle, **reading)
        if self.gate is not None:
            attended = self.gate * attended
        x = x + self.drop_path(self.dropout(attended), ptr)
        x = x + self.drop_path(self.dropout(self.feed_forward(self.feed_forward_norm(x))), ptr)
        return restore_form(x, source)


def as_block_options(attention_options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of a mechanism as those of its block, whose own `dropout` means that of the residual branches."""
    options = dict(attention_options or {})
    if "dropout" in options:
        options["attention_dropout"] = options.pop("dropout")
    return options
