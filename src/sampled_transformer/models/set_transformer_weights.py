"""Weights of the public Set Transformer of Lee et al. in the networks here.

Its modules are called `enc.0.I`, `enc.0.mab0.fc_q.weight`, ..., `dec.0.S`, `dec.0.mab.fc_q.weight`, ...:

| public                                             | here                                                     |
|----------------------------------------------------|----------------------------------------------------------|
| `enc.i.I` (1, m, dim)                              | `encoder.blocks.i.inducing` (m, dim)                     |
| `enc.i.mab0.fc_q`, `fc_k`, `fc_v`, `fc_o`          | `encoder.blocks.i.mab0.query`, `key`, `value`, `output`  |
| `enc.i.mab1.*`                                     | `encoder.blocks.i.mab1.*`                                |
| `enc.i.mab.*` (SAB)                                | `encoder.blocks.i.attention.*`                           |
| `dec.p.S` (1, k, dim), `dec.p.mab.*` (PMA)         | `encoder.pool.seeds`, `encoder.pool.mab.*`               |
| `dec.j.mab.*` (SAB)                                | `decoder.0.attention.*`, `decoder.1.attention.*`, ...    |
| `dec.l.weight`, `dec.l.bias` (the last layer)      | `head.weight`, `head.bias`                               |

The clustering network has the PMA first in `dec`, the classifier a Dropout before it. A file that holds the tensors
under `state_dict`, or with names that begin with `module.`, is read as well.

The public clustering network says 2 D numbers a component: a logit, D means, and for the D = 2 of its experiment ONE
deviation, which its `parse` broadcasts over the axes. Here every axis has its own: the last row of such a head is
repeated, which is the same mixture.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from . import create_model

LAYERS = {"fc_q": "query", "fc_k": "key", "fc_v": "value", "fc_o": "output"}


def load_public(state: Mapping[str, Any], heads: int = 4) -> nn.Module:
    """The network whose public state_dict this is, in evaluation mode; the number of heads is not in it.

    A "set-transformer-mixture" where `dec` begins with the PMA, else a "set-transformer". Read the file with
    `torch.load(path, map_location="cpu", weights_only=True)` and give what it holds.
    """
    state = unwrap(state)
    tensors = convert(state)
    blocks = 1 + max(int(name.split(".")[2]) for name in tensors if name.startswith("encoder.blocks."))
    induced = "encoder.blocks.0.inducing" in tensors
    query = "encoder.blocks.0." + ("mab1" if induced else "attention") + ".query.weight"
    for part in (query, "head.weight", "head.bias", "encoder.pool.seeds"):
        if part not in tensors:
            raise ValueError(f"state: expected the state_dict of a whole public Set Transformer, it lacks its {part}")
    first = tensors[query]  # (dim, inputs)
    options: dict[str, Any] = {
        "attention": "induced" if induced else "dense",
        "dim": first.shape[0],
        "heads": heads,
        "depth": blocks,
        "attention_options": {"inducing": len(tensors["encoder.blocks.0.inducing"])} if induced else {},
    }
    head = tensors["head.weight"]
    if "dec.0.S" in state:
        decoder = [int(name.split(".")[1]) for name in tensors if name.startswith("decoder.")]
        inputs = first.shape[1]
        options |= {
            "inputs": inputs,
            "components": len(tensors["encoder.pool.seeds"]),
            "decoder_depth": 1 + max(decoder, default=-1),
            "smallest_deviation": 0.0,
        }
        if len(head) == inputs + 2:  # one deviation for all axes
            for name in ("head.weight", "head.bias"):
                row = tensors[name][-1:]
                tensors[name] = torch.cat([tensors[name], *[row] * (inputs - 1)])
        network = create_model("set-transformer-mixture", **options)
    else:
        network = create_model("set-transformer", classes=len(head), normals=first.shape[1] == 6, **options)
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"state: expected weights that fit one network, got {reason}") from None
    return network.eval()


def unwrap(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The tensors of a file by their public names, without what torch.save and DataParallel were given around them."""
    inner = state.get("state_dict", state) if isinstance(state, Mapping) else None
    if not isinstance(inner, Mapping) or not all(isinstance(tensor, Tensor) for tensor in inner.values()):
        raise ValueError("state: expected tensors by name, or these under 'state_dict'")
    return {str(name).removeprefix("module."): tensor for name, tensor in inner.items()}


def convert(state: Mapping[str, Any]) -> dict[str, Tensor]:
    """The tensors of a public state_dict under their names here."""
    state = unwrap(state)
    pools = [match[1] for name in state if (match := re.fullmatch(r"dec\.(\d+)\.S", name))]
    places = sorted({int(match[1]) for name in state if (match := re.match(r"dec\.(\d+)\.mab\.", name))})
    if len(pools) != 1 or not any(name.startswith("enc.") for name in state):
        raise ValueError("state: expected the state_dict of a public Set Transformer, with enc.* and one dec.*.S")
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
