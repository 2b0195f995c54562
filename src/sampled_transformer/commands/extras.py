"""Modules that need more than the package's own dependencies."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def training_module(name: str) -> Any:
    """A module that needs the training engine, which is an extra."""
    try:
        return import_module(f"sampled_transformer.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("lightning", "torchmetrics"):
            raise
        raise ValueError(f'{error.name} is not installed: pip install "sampled-transformer[train]"') from None
