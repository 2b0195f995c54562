"""From settings to a network: which options it gets, and clear errors for options that do not exist."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Unpack, get_args, get_origin, get_type_hints

from torch import nn

from ..attention import REGISTRY as MECHANISMS
from ..models import REGISTRY as MODELS
from ..models import MaskedAutoencoder, MaskedAutoencoderClassifier, create_model
from ..models.set_transformer import ISAB
from ..support.registry import UnknownOptionError, look_up
from ..support.trees import convert
from ..weights import find_weights
from .initial import network_options
from .loading import View
from .settings import Settings

DECIDED = {"classes": "the data", "attention": "--attention", "normals": "--data.normals"}  # by what, not by --options


def given_options(settings: Settings) -> dict[str, Any]:
    """The options that were given, and for the others those of the initial weights."""
    if settings.init is None:
        return dict(settings.options)
    return network_options(settings.model, settings.attention, settings.options, find_weights(settings.init))


def check_given_options(options: Mapping[str, Any]) -> None:
    """Refuse network options that something else decides."""
    for name, who in DECIDED.items():
        if name in options:
            raise ValueError(f"options.{name}: expected none, because {who} decides it, got {options[name]!r}")


def build_network(model: str, options: Mapping[str, Any], decided: Iterable[str] = DECIDED) -> nn.Module:
    """Create a network; options that it or its mechanism does not have are refused by name.

    Args:
        model: Name of the network.
        options: All its options.
        decided: Options that errors do not list, because users cannot give them.
    """
    known = parameters(look_up("model", model, MODELS))
    for name in options:
        if name not in known:
            shown = [one for one in known if one not in decided]
            raise ValueError(refusal("options", UnknownOptionError(f"the network {model!r}", name, shown), options))
    mechanism = options.get("attention", "none")
    look_up("attention", mechanism, MECHANISMS)
    within = options.get("attention_options") or {}
    check_values(MODELS[model], options, "options")
    induced = mechanism == "induced" and model.startswith("set-transformer")
    check_values(ISAB if induced else MECHANISMS[mechanism], within, "options.attention_options")
    try:
        return create_model(model, **options)
    except UnknownOptionError as error:
        raise ValueError(refusal("options.attention_options", error, within)) from None
    except (RuntimeError, TypeError) as error:  # torch refuses a size
        reason = str(error).partition("\n")[0]
        raise ValueError(f"options: expected sizes that make a network, got {dict(options)} ({reason})") from None


def check_values(kind: Any, options: Mapping[str, Any], where: str) -> None:
    """Refuse values of another type than the arguments of a class have."""
    hints = get_type_hints(kind.__init__)
    for hint in list(hints.values()):
        if get_origin(hint) is Unpack:
            hints |= get_type_hints(get_args(hint)[0])
    for name, value in options.items():
        if name in hints:
            convert(value, hints[name], f"{where}.{name}")


def refusal(where: str, error: UnknownOptionError, options: Mapping[str, Any]) -> str:
    """The error for an option that does not exist: its path, what exists, its value, and the likely name."""
    return f"{where}.{error.name}: {error.expectation}, got {options.get(error.name)!r}{error.hint}"


def parameters(function: Callable[..., Any]) -> list[str]:
    """The names of the arguments of a class or function."""
    return list(inspect.signature(function).parameters)


def check_points(network: nn.Module, view: View) -> None:
    """Refuse clouds with fewer points than a network needs to form its groups."""
    if isinstance(network, MaskedAutoencoder | MaskedAutoencoderClassifier):
        least = max(network.groups, network.group_size)
        if view.points < least:
            expected = f"expected at least {least}, for {network.groups} groups of {network.group_size}"
            raise ValueError(f"data.points: {expected}, got {view.points}")
