"""Initial weights from an earlier run instead of random ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ..attention import Attention
from ..inference.target import Target, target_of
from ..models.mae import Encoder
from ..support.printable import printable
from ..weights import Description, WeightsError, describe_model, find_weights, load_model

HEAD = "head."  # the part that depends on the classes
ENCODER = "encoder."  # the part that a classifier takes from a masked autoencoder
DECODER = ("decoder_attention", "decoder_depth", "mask_ratio")  # options of an autoencoder that a classifier lacks
DECIDED = ("classes", "attention", "normals")  # options that do not come from the weights


@dataclass(frozen=True)
class Loaded:
    """Which tensors of a network came from a file, which are new, and which of the file were not used."""

    path: Path
    loaded: tuple[str, ...]
    fresh: tuple[str, ...]
    left: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        total = len(self.loaded) + len(self.fresh)
        text = f"{printable(self.path)}: {len(self.loaded)} of {total} tensors loaded"
        if self.left:  # only a part of the file was used: say which
            text += f": {_parts(self.loaded)}"
        if self.fresh:
            text += f"; new: {_parts(self.fresh) if self.left else ', '.join(self.fresh)}"
        if self.left:
            text += f"; not used: {_parts(self.left)}"
        return text + (f" ({self.note})" if self.note else "")


def _parts(names: tuple[str, ...]) -> str:
    """The parts of a network that tensors belong to, with counts: "encoder.stack (97)"."""
    counts = Counter(
        ".".join(name.split(".")[:2]) if name.startswith(ENCODER) else name.split(".")[0] for name in names
    )
    return ", ".join(f"{part} ({count})" for part, count in counts.items())


def classifier_options(description: Description, where: str) -> dict[str, Any]:
    """The options of a classifier whose encoder is the one that a file describes."""
    if description.model not in ("mae", "mae-classifier"):
        raise WeightsError(f"{where}: expected a 'mae' or 'mae-classifier', got a {description.model!r}")
    options = {name: value for name, value in description.options.items() if name not in (*DECODER, "classes")}
    return {"attention": "sampled", **options}


def with_changes(options: Mapping[str, Any], attention: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Network options with the given ones on top; options of one mechanism do not carry over to another."""
    kept = dict(options)
    if attention != kept.get("attention", attention):
        kept.pop("attention_options", None)
    changed = {**kept, **given}
    if kept.get("attention_options") and given.get("attention_options"):
        changed["attention_options"] = {**kept["attention_options"], **given["attention_options"]}
    return {**changed, "attention": attention}


def network_options(model: str, attention: str, given: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The options of a network with these initial weights: the given ones; the rest come from the weights."""
    description = describe_model(path)
    if model == "mae-classifier" and description.model == "mae":
        options = classifier_options(description, printable(path))
    elif model == description.model:
        options = dict(description.options)
    else:
        return dict(given)  # load_initial refuses these weights
    for name in Encoder.FIXED if model.startswith("mae") else ():
        if name in given and given[name] != options.get(name, given[name]):
            raise WeightsError(another_network(printable(path), name, given[name], options[name]))
    changed = with_changes(options, attention, given)
    return {name: value for name, value in changed.items() if name not in DECIDED}


def attention_of(weights: str | None) -> str:
    """The attention mechanism of initial weights; sampled without them."""
    options = {} if weights is None else describe_model(find_weights(weights)).options
    return str(options.get("attention", "sampled"))


def another_network(where: str, name: str, expected: Any, got: Any, argument: str = "init") -> str:
    option = f"options.{name}" if argument == "init" else name
    return f"{argument}: expected weights of a network with {option} {expected}, got {where} with {got}"


def _unmatched(where: str, name: str, wanted: bool, argument: str) -> str:
    """The error for a tensor that only the network or only the file has."""
    words = ("with", "without") if wanted else ("without", "with")
    return f"{argument}: expected weights {words[0]} {name}, got {where} {words[1]} it"


def load_initial(
    network: nn.Module, model: str, classes: tuple[str, ...], path: Path, target: Target | None = None
) -> Loaded:
    """Copy the weights of a file into a network of the same kind; the head stays new if it would mean something else.

    That is the case if the classes, or the names of the predicted numbers, differ.

    A classifier takes only the encoder of a masked autoencoder.
    """
    other, description = load_model(path)
    other_target = target_of(description, path)
    names = [None if one is None else one.name for one in (target, other_target)]
    keeps_head = tuple(description.classes) == tuple(classes) and names[0] == names[1]
    return copy_weights(network, model, other, description.model, path, keeps_head)


@torch.no_grad()
def copy_weights(
    network: nn.Module,
    model: str,
    other: nn.Module,
    other_model: str,
    path: Path,
    keeps_head: bool,
    argument: str = "init",
) -> Loaded:
    """Copy the weights of another network, which came from `path`; errors name the `argument` that the user gave."""
    where = printable(path)
    note = check_encoders(network, other, where, argument)
    own, theirs = network.state_dict(), other.state_dict()
    left: tuple[str, ...] = ()
    if (other_model, model) == ("mae", "mae-classifier"):
        left = tuple(name for name in theirs if not name.startswith(ENCODER))
        for name in sorted({name for name in own if name.startswith(ENCODER)} ^ (theirs.keys() - set(left))):
            raise WeightsError(_unmatched(where, name, name in own, argument))
        wanted = [name for name in own if name.startswith(ENCODER)]
    elif other_model != model:
        raise WeightsError(
            f"{argument}: expected weights of the model {model!r}, got {where}, which holds a {other_model!r}"
        )
    else:
        for name in sorted(own.keys() ^ theirs.keys()):
            raise WeightsError(_unmatched(where, name, name in own, argument))
        wanted = [name for name in own if keeps_head or not name.startswith(HEAD)]
    for name in wanted:
        if own[name].shape != theirs[name].shape:
            shapes = f"{tuple(own[name].shape)}, got {where} with {tuple(theirs[name].shape)}"
            raise WeightsError(f"{argument}: expected weights with {name} of shape {shapes}")
    for name in wanted:
        own[name].copy_(theirs[name])
    return Loaded(path, tuple(wanted), tuple(name for name in own if name not in wanted), left, note)


def check_encoders(network: nn.Module, other: nn.Module, where: str, argument: str = "init") -> str:
    """Refuse an encoder in which the same weights would mean something else; returns a note on other differences."""
    own, theirs = getattr(network, "encoder", None), getattr(other, "encoder", None)
    if not isinstance(own, Encoder) or not isinstance(theirs, Encoder):
        return ""
    for name, value in own.shape.items():
        if theirs.shape[name] != value:
            raise WeightsError(another_network(where, name, value, theirs.shape[name], argument))
    notes = [] if own.attention == theirs.attention else [f"trained with {theirs.attention} attention"]
    scales = [{layer.scale for layer in one.modules() if isinstance(layer, Attention)} for one in (own, theirs)]
    if scales[0] != scales[1]:
        notes.append(f"trained with attention of scale {', '.join(f'{scale:.4g}' for scale in sorted(scales[1]))}")
    groups = [(getattr(one, "groups", None), getattr(one, "group_size", None)) for one in (network, other)]
    if groups[0] != groups[1]:
        notes.append(f"trained on {groups[1][0]} groups of {groups[1][1]}")
    return ", ".join(notes)
