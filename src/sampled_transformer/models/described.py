"""Networks that a file describes: checked against the tensors in the file before any memory is allocated.

A description is a name and options, and a stranger may have written them. So every option must have the type that its
class names, sizes have limits, and the network is first built on torch's meta device, which stores no numbers. Only if
all names and shapes are those of the file do we build the network itself. So it takes at most a few times as much
memory as its file does.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Unpack, get_args, get_origin, get_type_hints

import torch
from torch import nn
from torch.nn.modules.module import (
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

from ..attention import REGISTRY as MECHANISMS
from ..blocks import TransformerBlock
from ..support.printable import brief
from ..support.registry import look_up
from ..support.trees import convert
from . import REGISTRY, create_model
from .set_transformer import ISAB, SetEncoder

MOST = 1 << 20  # of any whole number in a description: widths, groups, neighbours
MOST_PASSES = 4096  # samples and rounds, which multiply the time of every pass
PARTS = 8  # parameters and modules that a network may have per tensor in its file; ours have up to five
MOST_PARTS = 30_000  # however many tensors there are: a part takes 3 kB before it stores a number
MOST_STAGES = 64  # entries of a list
SPARE_BYTES = 1 << 20  # that numbers which follow from the options may always take
FLOATS = ("F16", "BF16", "F32", "F64")  # how a file may store a floating-point tensor
PASSES = ("samples", "rounds")


class Stored(NamedTuple):
    """A tensor in a file, before it is read."""

    dtype: str  # as safetensors writes it, such as "F32"
    shape: tuple[int, ...]


def build_described(name: str, options: Mapping[str, Any], stored: Mapping[str, Stored], size: int) -> nn.Module:
    """The network `create_model(name, **options)`, if exactly these tensors fit it; else a one-line ValueError.

    Its weights are new ones; the caller copies those of the file.

    Args:
        name, options: As in `create_model`, from the file.
        stored: The tensors in the file, by name.
        size: Bytes of the file.
    """
    try:
        check_description(name, options)
        with _few_parts(min(PARTS * max(len(stored), 1), MOST_PARTS)), torch.device("meta"):
            outline = create_model(name, **options)
    except Exception as error:  # whatever the classes make of odd options
        raise ValueError(f"cannot build the network that it describes ({brief(str(error), 300)})") from None
    check_tensors(name, outline, stored)
    kept = outline.state_dict().keys()
    others = sum(tensor.nbytes for found, tensor in outline.named_buffers() if found not in kept)
    if others > max(SPARE_BYTES, size):
        what = f"constants of {others:,} bytes from a file of {size:,}"
        raise ValueError(f"cannot build the network that it describes (it asks for {what})")
    return create_model(name, **options)


@contextmanager
def _few_parts(most: int) -> Iterator[None]:
    """Refuse to build a network of more modules and parameters in this thread, whichever of its options counts them."""
    thread, found = threading.get_ident(), 0

    def count(*_what: object) -> None:
        nonlocal found
        if threading.get_ident() == thread:
            found += 1
            if found > most:
                raise ValueError(
                    f"expected at most {most:,} modules and parameters for the tensors in the file, got more"
                )

    handles = register_module_module_registration_hook(count), register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def check_tensors(name: str, outline: nn.Module, stored: Mapping[str, Stored]) -> None:
    """Refuse tensors that are not those of the network, or that are of another shape or kind."""
    own = outline.state_dict()
    missing, unknown = sorted(own.keys() - stored.keys()), sorted(stored.keys() - own.keys())
    if missing or unknown:
        what = f"'{missing[0]}' is missing" if missing else f"'{brief(unknown[0])}' is unknown"
        raise ValueError(f"weights do not fit the model {name!r}: {what}")
    for key, tensor in own.items():
        dtype, shape = stored[key]
        if shape != tuple(tensor.shape):
            raise ValueError(f"{key}: expected shape {tuple(tensor.shape)}, got {shape}")
        expected = FLOATS if tensor.is_floating_point() else ("I64",)
        if dtype not in expected:
            raise ValueError(f"{key}: expected numbers of the type {' or '.join(expected)}, got {brief(dtype)}")


def check_description(name: str, options: Mapping[str, Any]) -> None:
    """Refuse options of other types than the classes name, and sizes without measure."""
    _check_types(_kinds(look_up("model", name, REGISTRY)), options, "options")
    inner = options.get("attention_options") or {}
    _check_types(_inner_kinds(), inner, "attention_options")
    for key, number in _numbers({**inner, **options}):
        if not math.isfinite(number):
            raise ValueError(f"{brief(key)}: expected a finite number, got {number}")
        limit = MOST_PASSES if key in PASSES else MOST
        if isinstance(number, int) and key != "seed" and abs(number) > limit:
            raise ValueError(f"{brief(key)}: expected at most {limit:,}, got {brief(str(number))}")


def _check_types(kinds: Mapping[str, Any], options: Mapping[str, Any], where: str) -> None:
    for key, value in options.items():
        if isinstance(value, list | tuple) and len(value) > MOST_STAGES:
            raise ValueError(f"{where}: {brief(key)}: expected at most {MOST_STAGES} entries, got {len(value)}")
        if key in kinds:  # the classes themselves refuse other names, and say which they have
            convert(value, kinds[key], f"{where}: {key}")


def _numbers(options: Mapping[str, Any]) -> Iterator[tuple[str, int | float]]:
    """Every number among the options, also those in lists, with the name of its option."""
    for key, value in options.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, int | float) and not isinstance(one, bool):
                yield key, one


def _kinds(owner: Any) -> dict[str, Any]:
    """The types of the options that a class takes, and of those that it hands on."""
    kinds: dict[str, Any] = {}
    for key, hint in get_type_hints(owner.__init__).items():
        if get_origin(hint) is Unpack:
            kinds |= get_type_hints(get_args(hint)[0])
        else:
            kinds[key] = hint
    return {key: hint for key, hint in kinds.items() if key not in ("return", "options")}


def _inner_kinds() -> dict[str, Any]:
    """The types of all options that mechanisms and the blocks around them know; one name has one meaning."""
    owners: Iterable[Any] = (SetEncoder, TransformerBlock, ISAB, *MECHANISMS.values())
    kinds: dict[str, Any] = {}
    for owner in owners:
        for key, hint in _kinds(owner).items():
            kinds[key] = hint if key not in kinds else kinds[key] | hint
    return kinds
