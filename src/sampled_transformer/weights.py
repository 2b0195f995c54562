"""Networks as files that describe themselves: weights, configuration and class names in one `.safetensors`."""

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

FORMAT = "sampled-transformer 1"


class WeightsError(ValueError):
    """A file of weights that cannot be used; the message is one line that names the file."""


@dataclass(frozen=True)
class Description:
    """What a file of weights says of itself."""

    model: str  # name in the registry
    options: Mapping[str, Any]  # of create_model
    classes: Sequence[str] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)  # how it was trained, what it reached: for people


def list_weights() -> list[str]:
    """The names of the weights that come with the package."""
    folder = files("sampled_transformer") / "weights_shipped"
    if not folder.is_dir():
        return []
    return sorted(Path(item.name).stem for item in folder.iterdir() if item.name.endswith(".safetensors"))


def find_weights(name: str) -> Path:
    """The file that is meant by a path, the folder of a run, or the name of weights that come with the package."""
    path = Path(name)
    if path.is_dir():
        return path / "model.safetensors"
    if path.is_file():
        return path
    if name in list_weights():
        return Path(str(files("sampled_transformer") / "weights_shipped" / f"{name}.safetensors"))
    known = ", ".join(list_weights()) or "none yet"
    raise WeightsError(
        f"{printable(name)}: neither a file nor the folder of a run; weights that come with the package: {known}"
    )


def save_model(network: nn.Module, path: str | Path, description: Description) -> None:
    """Write the network atomically: a crash leaves the old file or none."""
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
    """Read what the file says of itself, without its weights."""
    return _open(path)[0]


def load_model(path: str | Path, device: torch.device | str = "cpu") -> tuple[nn.Module, Description]:
    """Rebuild the network of a file in evaluation mode. Nothing in the file can run code."""
    description, tensors = _open(path, device)
    try:
        network = create_model(description.model, **description.options).to(device)
    except (ValueError, TypeError, RuntimeError) as error:
        raise WeightsError(f"{path}: describes a network that cannot be built: {error}") from None
    outputs = description.options.get("classes", len(description.classes))
    if description.classes and outputs != len(description.classes):
        raise WeightsError(f"{path}: names {len(description.classes)} classes for a network of {outputs}")
    own = network.state_dict()
    missing, unknown = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    if missing or unknown:
        what = f"lacks {missing[0]!r}" if missing else f"has the unknown {unknown[0]!r}"
        raise WeightsError(f"{path}: its weights do not fit the {description.model!r} it describes: it {what}")
    for name, tensor in own.items():
        if tensors[name].shape != tensor.shape:
            shapes = f"{tuple(tensors[name].shape)} instead of {tuple(tensor.shape)}"
            raise WeightsError(f"{path}: {name} has the shape {shapes}")
    network.load_state_dict({name: tensor.to(own[name].dtype) for name, tensor in tensors.items()})
    return network.eval(), description


def _open(path: str | Path, device: torch.device | str | None = None) -> tuple[Description, dict[str, torch.Tensor]]:
    """The description, and the tensors if a device is given for them."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise WeightsError(f"{path}: no such file of weights")
    try:
        with safe_open(path, "pt", device=str(device or "cpu")) as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()} if device is not None else {}  # noqa: SIM118
    except SafetensorError as error:
        raise WeightsError(f"{path}: not a whole .safetensors file ({error})") from None
    if metadata.get("format") != FORMAT:
        raise WeightsError(f"{path}: expected the format {FORMAT!r} in its metadata, found {metadata.get('format')!r}")
    try:
        options, classes, notes = (json.loads(metadata[key]) for key in ("options", "classes", "notes"))
        if not isinstance(options, dict) or not isinstance(classes, list) or not isinstance(notes, dict):
            raise TypeError
        return Description(metadata["model"], options, tuple(map(str, classes)), notes), tensors
    except (KeyError, TypeError, ValueError):
        raise WeightsError(f"{path}: its metadata is not that of a network of this package") from None
