"""Whole networks from torch's layers to ours and back, weights included."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from ..attention import number_layers
from .encoder_layer import TransformerEncoderLayer
from .multihead import MultiheadAttention

KEPT = ("linear1", "dropout", "linear2", "norm1", "norm2", "dropout1", "dropout2")  # of an encoder layer
PROJECTIONS = {f"{name}.weight" for name in ("query", "key", "value", "output")}  # the parameters of dense attention
BIASES = {f"{name}.bias" for name in ("query", "key", "value", "output")}


def from_torch(network: nn.Module, attention: str = "sampled", **options: Any) -> Any:
    """A copy of a network in which our layers stand for torch's, with the same weights; it may be trained on.

    Every nn.MultiheadAttention and nn.TransformerEncoderLayer is replaced, be it the network itself or somewhere
    inside. The layers are numbered, so that each has a cycle of its own in evaluation. Layers of nn.TransformerDecoder
    stay: their causal masks need an order, which sets do not have.

    Args:
        network: such a layer, an nn.TransformerEncoder, or any network that contains some.
        attention: name of the mechanism, one with the parameters of dense attention.
        options: further options of the mechanism.
    """
    _check_module(network)

    def convert(module: nn.Module) -> nn.Module | None:
        if isinstance(module, nn.MultiheadAttention):
            return _our_attention(module, attention, options)
        if type(module) is nn.TransformerEncoderLayer:  # of a derived one, whose forward may differ, only the attention
            return _our_layer(module, attention, options)
        return module if isinstance(module, nn.TransformerDecoderLayer) else None

    swapped = number_layers(_replace(copy.deepcopy(network), convert, {}))
    if not any(isinstance(module, MultiheadAttention) for module in swapped.modules()):
        expected = "nn.MultiheadAttention or nn.TransformerEncoderLayer inside"
        raise ValueError(f"network: expected {expected}, got {type(network).__name__} without any")
    for module in swapped.modules():
        if isinstance(module, nn.TransformerEncoder):
            module.use_nested_tensor = False  # it would hand its layers nested tensors for torch's fast path
    return swapped


def to_torch(network: nn.Module) -> Any:
    """The way back: a copy in which torch's layers stand for ours, with the same weights and dense attention."""
    _check_module(network)

    def convert(module: nn.Module) -> nn.Module | None:
        if isinstance(module, MultiheadAttention):
            return _torch_attention(module)
        return _torch_layer(module) if isinstance(module, TransformerEncoderLayer) else None

    swapped = _replace(copy.deepcopy(network), convert, {})
    for module in swapped.modules():
        if isinstance(module, nn.TransformerEncoder):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about layers without a fast path
                fresh = nn.TransformerEncoder(module.layers[0], 1, enable_nested_tensor=module.enable_nested_tensor)
            module.use_nested_tensor = fresh.use_nested_tensor
    return swapped


def _check_module(network: object) -> None:
    if not isinstance(network, nn.Module):
        got = type(network).__name__
        advice = "; load_state_dict of our layers takes the weights of torch's" if isinstance(network, dict) else ""
        raise ValueError(f"network: expected a torch module, got {got}{advice}")


def _replace(
    module: nn.Module, convert: Callable[[nn.Module], nn.Module | None], done: dict[nn.Module, nn.Module]
) -> nn.Module:
    """The module or what stands for it; inside, the same. A module that occurs twice is replaced by one."""
    if module not in done:
        new = convert(module)
        done[module] = module if new is None else new
        if new is None:
            for name, child in module._modules.items():
                if child is not None:
                    module._modules[name] = _replace(child, convert, done)
    return done[module]


def _our_attention(theirs: nn.MultiheadAttention, attention: str, options: dict[str, Any]) -> MultiheadAttention:
    ours = MultiheadAttention(
        theirs.embed_dim,
        theirs.num_heads,
        theirs.dropout,
        theirs.in_proj_bias is not None,
        theirs.bias_k is not None,
        theirs.add_zero_attn,
        theirs.kdim,
        theirs.vdim,
        theirs.batch_first,
        theirs.out_proj.weight.device,
        theirs.out_proj.weight.dtype,
        attention=attention,
        **options,
    )
    names = set(ours.attention.state_dict())
    if not PROJECTIONS <= names <= PROJECTIONS | BIASES:
        expected = "a mechanism with the parameters of dense attention"
        raise ValueError(f"attention: expected {expected}, got {attention!r}, which has others")
    ours.load_state_dict(theirs.state_dict())
    for name, parameter in ours.attention.named_parameters():
        layer, kind = name.split(".")
        source = getattr(theirs.out_proj, kind) if layer == "output" else getattr(theirs, f"in_proj_{kind}")
        parameter.requires_grad_(source.requires_grad)
    return ours.train(theirs.training)


def _our_layer(theirs: nn.TransformerEncoderLayer, attention: str, options: dict[str, Any]) -> TransformerEncoderLayer:
    """A layer of ours with torch's own linear layers, norms and dropouts."""
    own = theirs.self_attn
    ours = TransformerEncoderLayer(
        own.embed_dim, own.num_heads, 1, activation=theirs.activation, norm_first=theirs.norm_first
    )
    ours.self_attn = _our_attention(own, attention, options)
    for name in KEPT:
        setattr(ours, name, getattr(theirs, name))
    return ours.train(theirs.training)


def _torch_attention(ours: MultiheadAttention) -> nn.MultiheadAttention:
    layers = {name: getattr(ours.attention, name, None) for name in ("query", "key", "value", "output")}
    if set(ours.attention.state_dict()) - PROJECTIONS - BIASES or None in layers.values():
        expected = "a mechanism with the parameters of dense attention"
        raise ValueError(f"network: expected {expected}, got {type(ours.attention).__name__}, which has others")
    bias = ours.out_proj.bias is not None
    theirs = nn.MultiheadAttention(
        ours.embed_dim, ours.num_heads, ours.dropout, bias, batch_first=ours.batch_first, device="meta"
    ).to_empty(device=ours.out_proj.weight.device)
    theirs.to(ours.out_proj.weight.dtype)
    inputs = [layers[name] for name in ("query", "key", "value")]
    kinds = ("weight", "bias") if bias else ("weight",)
    for kind in kinds:
        parts = [getattr(layer, kind) for layer in inputs]
        joined, output = getattr(theirs, f"in_proj_{kind}"), getattr(theirs.out_proj, kind)
        with torch.no_grad():
            joined.copy_(torch.cat(parts))
            output.copy_(getattr(ours.out_proj, kind))
        joined.requires_grad_(any(part.requires_grad for part in parts))
        output.requires_grad_(getattr(ours.out_proj, kind).requires_grad)
    return theirs.train(ours.training)


def _torch_layer(ours: TransformerEncoderLayer) -> nn.TransformerEncoderLayer:
    own = ours.self_attn
    theirs = nn.TransformerEncoderLayer(
        own.embed_dim, own.num_heads, 1, activation=ours.activation, norm_first=ours.norm_first
    )
    theirs.self_attn = _torch_attention(own)
    for name in KEPT:
        setattr(theirs, name, getattr(ours, name))
    return theirs.train(ours.training)
