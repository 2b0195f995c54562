"""How a run was made: its command, configuration, versions, machine and wall time."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import yaml

from ..support.machine import machine
from ..support.printable import printable
from ..weights import describe_model


def made_now(command: str, seconds: float, weights: Path | None = None) -> dict[str, Any]:
    """What `facts` shows of a measurement that has just been made, of a network if `weights` is its file."""
    import torch

    from .. import __version__

    versions = {"sampled_transformer": __version__, "torch": torch.__version__}
    made = {"command": command, "seconds": seconds, "versions": versions, "machine": machine()}
    return made if weights is None else {**made, "configuration": configuration_of(weights)}


def configuration_of(weights: Path) -> dict[str, Any]:
    """The network of a weights file, and how it reads data, without the folders of this computer."""
    description = describe_model(weights)
    found: dict[str, Any] = {"model": description.model, "options": dict(description.options)}
    data = description.notes.get("data")
    if isinstance(data, Mapping):
        own = {name: value for name, value in data.items() if name != "root" and value is not None}
        if isinstance(own.get("source"), str):
            own["source"] = Path(own["source"]).name
        found["data"] = own
    return found


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
    said = [duration(result["seconds"]) if "seconds" in result else ""]
    said += [f"{kind} {version}" for kind, version in dict(result.get("versions", {})).items()]
    said += [", ".join(f"{kind} {_short(value)}" for kind, value in _flat(result.get("machine", {})))]
    body.append(f'<p class="note">{escape("; ".join(filter(None, said)))}</p>')
    text = _configuration(result, folder)
    if text:
        body.append(f"<details><summary>Configuration</summary><pre>{escape(text)}</pre></details>")
    return body


def _configuration(result: Mapping[str, Any], folder: Path | None) -> str:
    """The settings of a training, the network of an evaluation, or the plan of a benchmark; nothing if nobody knows."""
    config = None if folder is None else folder / "config.yaml"
    if config is not None and config.is_file():
        return config.read_text("utf-8", "replace")
    known = result.get("configuration") or result.get("plan")
    return yaml.safe_dump(known, sort_keys=False, allow_unicode=True) if known else ""


def duration(seconds: float) -> str:
    """A wall time for readers, at least 0.1 s."""
    if seconds < 10:
        return f"{max(seconds, 0.1):.1f} s"
    if seconds < 600:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _flat(machine: Any) -> list[tuple[str, Any]]:
    return list(machine.items()) if isinstance(machine, Mapping) else [("", machine)] if machine else []
