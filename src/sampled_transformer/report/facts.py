"""How a run was made: its command, configuration, versions, machine and wall time."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from ..support.machine import machine
from ..support.printable import printable


def made_now(command: str, seconds: float) -> dict[str, Any]:
    """What `facts` shows of a measurement that has just been made."""
    import torch

    from .. import __version__

    versions = {"sampled_transformer": __version__, "torch": torch.__version__}
    return {"command": command, "seconds": seconds, "versions": versions, "machine": machine()}


def facts(results: Mapping[str, dict[str, Any]], folders: Mapping[str, Path]) -> list[str]:
    """The last part of every page: one paragraph per run, and its configuration to unfold."""
    return [
        "<h2>How it was made</h2>",
        *(one for name, result in results.items() for one in _one(name, result, folders.get(name))),
    ]


def _one(name: str, result: Mapping[str, Any], folder: Path | None) -> list[str]:
    body = (
        [f"<p>{escape(printable(name))}: <code>{escape(str(result['command']))}</code></p>"]
        if result.get("command")
        else []
    )
    said = [f"{result['seconds']:,.0f} s" if "seconds" in result else ""]
    said += [f"{kind} {version}" for kind, version in dict(result.get("versions", {})).items()]
    said += [", ".join(f"{kind} {value}" for kind, value in _flat(result.get("machine", {})))]
    body.append(f'<p class="note">{escape("; ".join(filter(None, said)))}</p>')
    config = None if folder is None else folder / "config.yaml"
    if config is not None and config.is_file():
        text = config.read_text("utf-8", "replace")
        body.append(f"<details><summary>Configuration</summary><pre>{escape(text)}</pre></details>")
    return body


def _flat(machine: Any) -> list[tuple[str, Any]]:
    return list(machine.items()) if isinstance(machine, Mapping) else [("", machine)] if machine else []
