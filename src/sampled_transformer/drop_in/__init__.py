"""Layers with the signatures of torch's own, for networks that were written for those."""

from .encoder_layer import TransformerEncoderLayer
from .multihead import MultiheadAttention
from .swap import from_torch, to_torch

__all__ = ["MultiheadAttention", "TransformerEncoderLayer", "from_torch", "to_torch"]
