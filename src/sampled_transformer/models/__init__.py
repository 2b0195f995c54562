"""The networks of the paper, by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from torch import nn

from .basic import BasicClassifier

REGISTRY: dict[str, Callable[..., nn.Module]] = {"basic": BasicClassifier}

__all__ = ["BasicClassifier", "create_model", "list_models"]


def list_models() -> list[str]:
    """The names that `create_model` takes."""
    return sorted(REGISTRY)


def create_model(name: str, **options: Any) -> nn.Module:
    """Build a network by name; options are those of its class."""
    if name not in REGISTRY:
        close = difflib.get_close_matches(name, REGISTRY, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"model: expected one of {', '.join(list_models())}, got {name!r}{hint}")
    return REGISTRY[name](**options)
