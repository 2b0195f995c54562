"""Self-describing weights files: weights, configuration and class names in one `.safetensors` file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .models import create_model
from .support.atomic import atomic_write
from .support.printable import printable
from .support.registry import did_you_mean

FORMAT = "sampled-transformer 1"


class WeightsError(ValueError):
    """A weights file that cannot be used. The message is one line: `path: problem`."""


@dataclass(frozen=True)
class Description:
    """The metadata of a weights file."""

    model: str  # name for create_model
    options: Mapping[str, Any]  # options for create_model
    classes: Sequence[str] = ()  # class names
    notes: Mapping[str, Any] = field(default_factory=dict)  # how it was trained, and its results


def list_weights() -> list[str]:
    """The names of the weights that ship with the package."""
    folder = files("sampled_transformer") / "weights_shipped"
    if not folder.is_dir():
        return []
    return sorted(Path(item.name).stem for item in folder.iterdir() if item.name.endswith(".safetensors"))


def find_weights(name: str) -> Path:
    """The weights file for a path, a run folder, or the name of weights that ship with the package."""
    path = Path(name)
    if path.is_dir():
        return path / "model.safetensors"
    if path.is_file():
        return path
    if name in list_weights():
        return Path(str(files("sampled_transformer") / "weights_shipped" / f"{name}.safetensors"))
    known, hint = ", ".join(list_weights()), did_you_mean(name, list_weights())
    raise WeightsError(f"{printable(name)}: no such file, run folder or shipped weights ({known}){hint}")


def save_model(network: nn.Module, path: str | Path, description: Description) -> None:
    """Write the network atomically: after a crash there is the old file or none."""
    from safetensors.torch import save

    metadata = {
        "format": FORMAT,
        "model": description.model,
        "options": json.dumps(dict(description.options), sort_keys=True),
        "classes": json.dumps(list(description.classes)),
        "notes": json.dumps(dict(description.notes), sort_keys=True),
    }
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    with atomic_write(path) as file:
        file.write(save(tensors, metadata))


def describe_model(path: str | Path) -> Description:
    """Read the metadata of a file, without its weights."""
    return _open(path)[0]


def load_model(path: str | Path, device: torch.device | str = "cpu") -> tuple[nn.Module, Description]:
    """Load the network of a file, in evaluation mode. Nothing in the file can run code."""
    description, tensors = _open(path, device)
    try:
        network = create_model(description.model, **description.options).to(device)
    except (ValueError, TypeError, RuntimeError) as error:
        raise WeightsError(f"{printable(path)}: cannot build the network that it describes ({error})") from None
    outputs = description.options.get("classes", len(description.classes))
    if description.classes and outputs != len(description.classes):
        raise WeightsError(f"{printable(path)}: expected {outputs} class names, got {len(description.classes)}")
    own = network.state_dict()
    missing, unknown = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    if missing or unknown:
        what = f"{missing[0]!r} is missing" if missing else f"{unknown[0]!r} is unknown"
        raise WeightsError(f"{printable(path)}: weights do not fit the model {description.model!r}: {what}")
    for name, tensor in own.items():
        if tensors[name].shape != tensor.shape:
            shapes = f"expected shape {tuple(tensor.shape)}, got {tuple(tensors[name].shape)}"
            raise WeightsError(f"{printable(path)}: {name}: {shapes}")
    network.load_state_dict({name: tensor.to(own[name].dtype) for name, tensor in tensors.items()})
    return network.eval(), description


def _open(path: str | Path, device: torch.device | str | None = None) -> tuple[Description, dict[str, torch.Tensor]]:
    """Read the description and, if a device is given, the tensors."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise WeightsError(f"{printable(path)}: no such file")
    try:
        with safe_open(path, "pt", device=str(device or "cpu")) as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()} if device is not None else {}  # noqa: SIM118
    except SafetensorError as error:
        raise WeightsError(f"{printable(path)}: not a complete .safetensors file ({error})") from None
    if metadata.get("format") != FORMAT:
        found = metadata.get("format")
        raise WeightsError(f"{printable(path)}: expected the format {FORMAT!r} in its metadata, got {found!r}")
    try:
        options, classes, notes = (json.loads(metadata[key]) for key in ("options", "classes", "notes"))
        if not isinstance(options, dict) or not isinstance(classes, list) or not isinstance(notes, dict):
            raise TypeError
        return Description(metadata["model"], options, tuple(map(str, classes)), notes), tensors
    except (KeyError, TypeError, ValueError):
        raise WeightsError(f"{printable(path)}: expected metadata written by save_model, got something else") from None
