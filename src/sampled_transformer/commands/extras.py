"""Modules that need more than the dependencies of the package itself."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def training_module(name: str) -> Any:
    """Import a module that needs Lightning, which is an extra; the error says how to install it."""
    try:
        return import_module(f"sampled_transformer.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("lightning", "torchmetrics"):
            raise
        raise ValueError(f'{error.name} is not installed: pip install "sampled-transformer[train]"') from None


def view_module(name: str) -> Any:
    """Import a module of the live page, which needs viser, an extra; the error says how to install it."""
    try:
        return import_module(f"sampled_transformer.view.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("viser", "websockets"):
            raise
        raise ValueError(f'{error.name} is not installed: pip install "sampled-transformer[view]"') from None
