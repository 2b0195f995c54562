"""Weights of Lee et al.'s public Set Transformer (https://github.com/juho-lee/set_transformer) in our networks.

The public code names its modules `enc.0.I`, `enc.0.mab0.fc_q.weight`, ..., `dec.0.S`, `dec.0.mab.fc_q.weight`, ...:

| public                                             | here                                                     |
|----------------------------------------------------|----------------------------------------------------------|
| `enc.i.I` (1, m, dim)                              | `encoder.blocks.i.inducing` (m, dim)                     |
| `enc.i.mab0.fc_q`, `fc_k`, `fc_v`, `fc_o`          | `encoder.blocks.i.mab0.query`, `key`, `value`, `output`  |
| `enc.i.mab1.*`                                     | `encoder.blocks.i.mab1.*`                                |
| `enc.i.mab.*` (SAB)                                | `encoder.blocks.i.attention.*`                           |
| `dec.p.S` (1, k, dim), `dec.p.mab.*` (PMA)         | `encoder.pool.seeds`, `encoder.pool.mab.*`               |
| `dec.j.mab.*` (SAB)                                | `decoder.0.attention.*`, `decoder.1.attention.*`, ...    |
| `dec.l.weight`, `dec.l.bias` (the last layer)      | `head.weight`, `head.bias`                               |

In the clustering network `dec` begins with the PMA; in the classifier a Dropout comes first. Files that hold the
tensors under `state_dict`, or under names that begin with `module.`, are read as well.

For every component, the public clustering network gives a logit, D means and, for the D = 2 of its experiment, ONE
deviation, which its `parse` broadcasts over the axes. Here every axis has its own deviation: we repeat the last row of
such a head, which gives the same mixture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..mixture import SetTransformerMixture
from .classifier import SetTransformer

LAYERS = {"fc_q": "query", "fc_k": "key", "fc_v": "value", "fc_o": "output"}


def load_public(state: Mapping[str, Any], heads: int = 4) -> nn.Module:
    """Build the network that a public state_dict belongs to, in evaluation mode.

    It is a `SetTransformerMixture` where `dec` begins with the PMA, and a `SetTransformer` otherwise. Read the file
    with `torch.load(path, map_location="cpu", weights_only=True)` and pass what it holds.

    Args:
        state: tensors by their public names.
        heads: number of heads, which the tensors do not tell.
    """
    state = unwrap(state)
    tensors = convert(state)
    _check_whole(tensors)
    if "dec.0.S" in state:
        tensors = _one_deviation_per_axis(tensors)
        network: nn.Module = SetTransformerMixture(**_mixture_options(tensors, heads), smallest_deviation=0.0)
    else:
        classes, normals = len(tensors["head.weight"]), tensors[_first_layer(tensors)].shape[1] == 6
        network = SetTransformer(classes, normals=normals, **_encoder_options(tensors, heads))
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"state: expected weights that fit one network, got {reason}") from None
    return network.eval()


def _encoder_options(tensors: Mapping[str, Tensor], heads: int) -> dict[str, Any]:
    induced = "encoder.blocks.0.inducing" in tensors
    return {
        "attention": "induced" if induced else "dense",
        "dim": tensors[_first_layer(tensors)].shape[0],
        "heads": heads,
        "depth": 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.blocks.")),
        "attention_options": {"inducing": len(tensors["encoder.blocks.0.inducing"])} if induced else {},
    }


def _mixture_options(tensors: Mapping[str, Tensor], heads: int) -> dict[str, Any]:
    decoder = [int(name.split(".")[1]) for name in tensors if name.startswith("decoder.")]
    return {
        **_encoder_options(tensors, heads),
        "inputs": tensors[_first_layer(tensors)].shape[1],
        "components": len(tensors["encoder.pool.seeds"]),
        "decoder_depth": 1 + max(decoder, default=-1),
    }


def _first_layer(tensors: Mapping[str, Tensor]) -> str:
    """The name of the query's weight in the first block, which is (dim, inputs)."""
    induced = "encoder.blocks.0.inducing" in tensors
    return f"encoder.blocks.0.{'mab1' if induced else 'attention'}.query.weight"


def _check_whole(tensors: Mapping[str, Tensor]) -> None:
    """Refuse a state_dict without the tensors that tell the sizes of the network."""
    for name in (_first_layer(tensors), "head.weight", "head.bias", "encoder.pool.seeds"):
        if name not in tensors:
            raise ValueError(
                f"state: expected the state_dict of a whole public Set Transformer, got one without {name}"
            )


def _one_deviation_per_axis(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Repeat the last row of a head that gives one deviation for all axes."""
    inputs = tensors[_first_layer(tensors)].shape[1]
    if len(tensors["head.weight"]) != inputs + 2:
        return dict(tensors)
    heads = {name: tensors[name] for name in ("head.weight", "head.bias")}
    return {**tensors, **{name: torch.cat([rows, *[rows[-1:]] * (inputs - 1)]) for name, rows in heads.items()}}


def unwrap(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The tensors of a file by their public names, without a surrounding `state_dict` and DataParallel's `module.`."""
    expected = "state: expected tensors by name, or these under 'state_dict'"
    inner = state.get("state_dict", state) if isinstance(state, Mapping) else state
    if not isinstance(inner, Mapping):
        raise ValueError(f"{expected}, got {type(inner).__name__}")
    for name, tensor in inner.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"{expected}, got {type(tensor).__name__} under {name!r}")
    return {str(name).removeprefix("module."): tensor for name, tensor in inner.items()}


def convert(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The tensors of a public state_dict under the names they have in our networks."""
    state = unwrap(state)
    pools = [match[1] for name in state if (match := re.fullmatch(r"dec\.(\d+)\.S", name))]
    places = sorted({int(match[1]) for name in state if (match := re.match(r"dec\.(\d+)\.mab\.", name))})
    if len(pools) != 1 or not any(name.startswith("enc.") for name in state):
        some = ", ".join(list(state)[:3]) or "no tensors"
        raise ValueError(
            f"state: expected the state_dict of a public Set Transformer, with enc.* and one dec.*.S, got {some}"
        )
    decoder = {str(place): number for number, place in enumerate(p for p in places if p != int(pools[0]))}
    return {_rename(name, pools[0], decoder): _plain(name, tensor) for name, tensor in state.items()}


def _rename(name: str, pool: str, decoder: Mapping[str, int]) -> str:
    parameter = re.fullmatch(r"(enc|dec)\.(\d+)\.(I|S|weight|bias)", name)
    layer = re.fullmatch(r"(enc|dec)\.(\d+)\.(mab|mab0|mab1)\.(fc_[qkvo])\.(weight|bias)", name)
    if parameter:
        part, place, word = parameter.groups()
        if (part, word) == ("enc", "I"):
            return f"encoder.blocks.{place}.inducing"
        if (part, word, place) == ("dec", "S", pool):
            return "encoder.pool.seeds"
        if part == "dec" and word in ("weight", "bias"):
            return f"head.{word}"
    if layer:
        part, place, block, word, kind = layer.groups()
        if part == "enc":
            return f"encoder.blocks.{place}.{'attention' if block == 'mab' else block}.{LAYERS[word]}.{kind}"
        if block == "mab" and place == pool:
            return f"encoder.pool.mab.{LAYERS[word]}.{kind}"
        if block == "mab" and place in decoder:
            return f"decoder.{decoder[place]}.attention.{LAYERS[word]}.{kind}"
    raise ValueError(f"state: expected names of a public Set Transformer without LayerNorm, got {name!r}")


def _plain(name: str, tensor: Tensor) -> Tensor:
    return tensor.squeeze(0) if name.endswith((".I", ".S")) else tensor
