"""Modules that need more than the dependencies of the package itself."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def training_module(name: str) -> Any:
    """Import a module that needs Lightning, which is an extra; the error says how to install it."""
    try:
        return import_module(f"sampled_transformer.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("lightning", "torchmetrics"):
            raise
        raise ValueError(f'{error.name} is not installed: pip install "sampled-transformer[train]"') from None


def with_report(out: str, written: str) -> str:
    """Write report.html about a finished run if plotly is installed; returns what was written, to print."""
    if find_spec("plotly") is None:
        return written
    from ..report.run_page import write_report

    folder = Path(out)
    write_report(folder / "report.html", {folder.name: folder}, folder.name)
    return f"{written}, report.html"


def view_module(name: str) -> Any:
    """Import a module of the live page, which needs viser, an extra; the error says how to install it."""
    try:
        return import_module(f"sampled_transformer.view.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("viser", "websockets"):
            raise
        raise ValueError(f'{error.name} is not installed: pip install "sampled-transformer[view]"') from None
